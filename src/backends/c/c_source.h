// Scheduled trees as portable C with the vector extensions of GCC and clang: to be read, and compiled in tests as a
// second opinion on LLVM's code. It tells GCC and clang not to contract. Functions of the C library are called where C has no
// operator (fma, sqrt, floor); everything else is written out.
#pragma once

#include <string>

#include "codegen/functions.h"
#include "schedules/tree.h"

namespace heddle::backends {

// A file of its own with the one function `function_name`, of the signature of codegen::KernelFunction.
// The tree must pass schedules::verify.
// With `units` the same bits as the machine that has them; estimates are then AVX-512's own.
std::string c_source(const schedules::Tree& tree, const std::string& function_name,
                     codegen::Units units = codegen::Units::plain);

// The same for a file with other kernels: the function, of internal linkage, behind what it needs beside <stdint.h> and
// the functions heddle_fma, heddle_sqrt, heddle_floor, heddle_ceil, heddle_rint and heddle_trunc, and those of float.
std::string c_source_of_several(const schedules::Tree& tree, const std::string& function_name);

}  // namespace heddle::backends
