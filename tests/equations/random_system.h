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

struct Difference {
    bool equal = true;
    std::string what;  // the first element that differs
};
// Outputs of two runs of one system's outputs, by name. `tolerance` is relative to the greatest magnitude of the
// tensor.
Difference compare_outputs(const System& a, const std::vector<TensorData>& values_a, const System& b,
                           const std::vector<TensorData>& values_b, double tolerance);

}  // namespace heddle::equations::testing
