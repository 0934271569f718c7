// Addresses that are added up part by part.
#pragma once

#include <llvm/IR/PassManager.h>

namespace heddle::backends {

// p + (a + b) becomes (p + a) + b, of which what a loop leaves alone is moved out of it: else each of its accesses adds up
// its own place, beside a register for each part. Before LICM; LLVM's combining of instructions, which does this among
// much else, is not run. A sum that something else uses as well stays.
struct AddressesByParts : llvm::PassInfoMixin<AddressesByParts> {
    llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace heddle::backends
