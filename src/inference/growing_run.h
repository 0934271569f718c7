// The memory of a run's results that grow (plan/growth.h): that of the inputs which they continue, where these were handed back
// and nobody has continued them yet, else new.
#pragma once

#include <vector>

#include "inference/value.h"
#include "plan/instantiate.h"
#include "runtime/executable.h"

namespace heddle::inference {

// How many places that memory should have, for the other names: as many as inputs' memory has, if these are enough, so that
// nothing is copied.
int64_t capacity_for(const plan::Plan& plan, const plan::Names& names, const std::vector<Value>& inputs);

// One an output that grows, in the order of the plan's; `tensors`, the inputs that are read, get their memory. What inputs have is
// copied where it lies elsewhere. Code runtime.out_of_memory.
Result<std::vector<runtime::Growing>> take_growing(const plan::Plan& plan, const std::vector<Value>& inputs,
                                                   runtime::Arena& arena, std::vector<TensorData>& tensors);

}  // namespace heddle::inference
