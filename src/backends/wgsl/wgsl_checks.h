// What a tree must not have to be written in 32 bits.
#pragma once

#include <span>
#include <vector>

#include "schedules/tree.h"
#include "support/diagnostic.h"

namespace heddle::backends {

// Codes backends.wgsl_type, backends.wgsl_function, backends.wgsl_integer; backends.wgsl_construct: it is scheduled for
// another number of lanes.
Result<void> check_wgsl(const schedules::Tree& tree, int lanes);

// An int64 that is read is checked when it is: it has 31 bits.
inline constexpr double most_read = 0x1p30;

// The int64 that a launch computes, with its numbers, and with the greatest magnitudes of what memories hold before it
// (of arrays 0): they must fit 32 bits. So sums of two that are read do, and products of places, but no products of what
// is read. The magnitudes behind it. Code backends.wgsl_integer.
Result<std::vector<double>> check_wgsl_integers(const schedules::Tree& tree, std::span<const int64_t> numbers,
                                                std::vector<double> held);

}  // namespace heddle::backends
