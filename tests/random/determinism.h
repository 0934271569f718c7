// The same program is compiled to the same bytes and computes the same: by two threads of a process at once, and by
// processes that lie elsewhere in memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::random {

// Prints a line for each program from `seed` on: digests of plans, of kernels' texts and object code, and of results.
// Two threads do the same at once; where they differ the status is 1.
int print_digests(uint64_t seed, size_t count);
// Runs `program --digests` in two processes; 1 where their lines differ, or where there are none.
int same_everywhere(const char* program, uint64_t seed, size_t count);

}  // namespace heddle::random
