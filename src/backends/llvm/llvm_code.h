// Scheduled trees as LLVM IR, already vectorised: nothing of it is left to LLVM's own vectorisers.
#pragma once

#include <memory>
#include <string>

#include "schedules/tree.h"
#include "target/target.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace heddle::backends {

// A module with the one function `function_name`, of the signature of codegen::KernelFunction. The tree must pass
// schedules::verify. `widest`: the bytes of the widest vectors for which there are instructions on 16-bit integers.
std::unique_ptr<llvm::Module> build_module(llvm::LLVMContext& context, const schedules::Tree& tree,
                                           const std::string& function_name, int widest);

}  // namespace heddle::backends
