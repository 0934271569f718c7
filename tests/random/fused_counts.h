// Programs of movement and elementwise operations alone: what fusion makes of them is counted, and held against what
// its rules promise (docs/equations.md, "Fusion"); compiled fused and unfused to the same bits, which are the
// interpreter's within its bounds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "language/library.h"

namespace heddle::random {

// Prints the counts; the exit status: 1 where a program breaks a promise or differs.
int check_fused_counts(uint64_t seed, size_t count, Library& library);

}  // namespace heddle::random
