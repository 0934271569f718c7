// Scheduled trees as portable C with the vector extensions of GCC and clang: to be read, and compiled in tests as a
// second opinion on LLVM's code. Compile with -ffp-contract=off. Functions of the C library are called where C has no
// operator (fma, sqrt, floor); everything else is written out.
#pragma once

#include <string>

#include "schedules/tree.h"

namespace heddle::backends {

// A file of its own with the one function `function_name`, of the signature of codegen::KernelFunction.
// The tree must pass schedules::verify.
std::string c_source(const schedules::Tree& tree, const std::string& function_name);

}  // namespace heddle::backends
