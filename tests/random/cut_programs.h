// Random programs cut at random over random meshes of places: the interpreter's values of the whole, bit for bit where no
// sum or product of floats is cut; messages that fit together and have the model's bytes; and, run as processes with
// compiled code, values within the interpreter's bounds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "language/library.h"

namespace heddle::random {

// `run_one_in`: so many programs for one that is compiled and run. Prints the counts; the exit status: 1 where a program
// differs.
int check_cut_programs(uint64_t seed, size_t count, size_t run_one_in, Library& library);

}  // namespace heddle::random
