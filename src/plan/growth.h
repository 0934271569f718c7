// Outputs that are an input with more behind it, along one dimension: what a decoder hands back as its cache. They grow in the
// input's memory: both lie there with room behind, a run writes what is new, and copies nothing.
//
// Who runs such a plan gives memory for `capacity` places along the dimension (a name of the plan's sizes, plan.h), the
// input's elements at its begin, and gets the output there. Places behind the input's must be nobody else's.
#pragma once

#include <vector>

#include "equations/system.h"
#include "plan/storage.h"

namespace heddle::plan {

struct GrowingTensor {
    equations::TensorIndex output = no_id, input = no_id;
    size_t dimension = 0;
};

// Which outputs of the system are so: an equation copies all of an input to the same place, and others make the rest; and the graph
// holds for other sizes of the input, too, so that it may be handed back. The copying is taken out of the system: from now on the
// output's begin is what the input's memory has.
std::vector<GrowingTensor> take_out_growths(equations::System& system, const Graph& graph);

// Row-major, with room behind the dimension for `capacity` places in all.
StorageMap with_capacity(const std::vector<Size>& shape, size_t dimension, const Size& capacity);

// How many places memory for a tensor of `length` should have, so that what grows one by one is seldom copied.
int64_t capacity_for(int64_t length);

}  // namespace heddle::plan
