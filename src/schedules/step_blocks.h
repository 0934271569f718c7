// A scan whose lanes run over rows that are contiguous in time would gather each step's elements. Its steps are cut
// into blocks: before each block its inputs are transposed into arrays of the task, after it its outputs out of them
// (docs/schedules.md, "Scans").
#pragma once

#include <optional>

#include "schedules/kernel.h"

namespace heddle::schedules {

// The kernel with its scans in such blocks, if any gains by them. Tensors keep their numbers; arrays follow.
std::optional<Kernel> in_step_blocks(const Kernel& kernel);

}  // namespace heddle::schedules
