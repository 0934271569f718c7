// Runs a partition as a machine might. Tests only.
#pragma once

#include "equations/fusion.h"

namespace heddle::equations {

// Every kernel's tasks run apart, in random order, its locals poisoned before each task; equal to `run`.
Result<std::vector<TensorData>> run_partition(const System& system, const Partition& partition,
                                              const std::vector<TensorData>& feeds, uint64_t seed);

}  // namespace heddle::equations
