// What a tree must not have to be written in 32 bits.
#pragma once

#include <span>

#include "schedules/tree.h"
#include "support/diagnostic.h"

namespace heddle::backends {

// Codes backends.wgsl_type, backends.wgsl_function, backends.wgsl_integer; backends.wgsl_construct: it is scheduled for
// another number of lanes. An int64 that is read is checked when it is: it has 31 bits. What is made of such ones must
// then fit 32; so sums of two do, and products do not. Places and extents are launch numbers, which are checked where
// they are known.
Result<void> check_wgsl(const schedules::Tree& tree, int lanes);

// The integers alone, with a launch's numbers.
Result<void> check_wgsl_integers(const schedules::Tree& tree, std::span<const int64_t> numbers);

}  // namespace heddle::backends
