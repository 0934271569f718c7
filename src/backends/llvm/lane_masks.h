// Conditions of lanes without mask registers. LLVM keeps a vector of i1 that joins several comparisons in lanes of 16
// bits: each comparison is narrowed, and the result widened again where it chooses. Here it has the width of the lanes
// that it chooses from, where a comparison's result is.
#pragma once

#include <llvm/IR/Function.h>

namespace heddle::backends {

// Choices and questions that are joined of comparisons of vectors of 128 and 256 bits. For AVX2; behind all other
// passes, since they would undo it.
void widen_joined_masks(llvm::Function& function);

}  // namespace heddle::backends
