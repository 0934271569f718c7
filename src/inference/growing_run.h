// The memory of a run's results that grow (plan/growth.h): that of the inputs which they continue, where these were handed back
// and nobody has continued them yet, else new.
#pragma once

#include <span>
#include <vector>

#include "inference/value.h"
#include "plan/numbers.h"
#include "runtime/executable.h"

namespace heddle::inference {

// How many places that memory should have: as many as inputs' memory has, if these are enough, so that nothing is copied.
int64_t capacity_for(int64_t longest, const plan::Plan& plan, std::span<const Value* const> inputs);
// Whether these numbers are for so many.
bool has_capacity(const plan::Plan& plan, const plan::Numbers& numbers, std::span<const Value* const> inputs);

// One an output that grows, in the order of the plan's; `tensors`, the inputs that are read, get their memory. What inputs have is
// copied where it lies elsewhere. Code runtime.out_of_memory.
Result<std::vector<runtime::Growing>> take_growing(const plan::Plan& plan, const plan::Numbers& numbers,
                                                   std::span<const Value* const> inputs, runtime::Arena& arena,
                                                   std::vector<TensorData>& tensors);

}  // namespace heddle::inference
