// Instructions of AVX-512 on floats for which LLVM has no general operation. Vectors of any power of two of lanes; a
// scalar is a lane of one.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "codegen/code.h"

namespace heddle::backends {

// scale, exponent_of, significand_of and reciprocal_root_estimate of float32 and float64. `b` of scale alone.
llvm::Value* avx512_operation(llvm::IRBuilder<>& builder, codegen::CodeOp op, llvm::Value* a, llvm::Value* b);
llvm::Value* avx512_look_up(llvm::IRBuilder<>& builder, llvm::Value* table, llvm::Value* index);

}  // namespace heddle::backends
