// Random systems of tensor operations, with inputs: what fused = unfused is tried on.
#pragma once

#include <random>

#include "system_builder.h"

namespace heddle::equations::testing {

struct RandomSystem {
    System system;
    std::vector<TensorData> feeds;
};

// `operations` operations drawn by `seed`. `exact`: movement and elementwise operations only.
RandomSystem random_system(uint64_t seed, int operations, bool exact = false);

}  // namespace heddle::equations::testing
