// A graph on so many inputs at once, operation by operation: where an input has one more first axis, so has all that
// follows from it. What does not depend on it is worked out once.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace heddle::gradient {

// With one more first axis.
TensorType longer(TensorType type, const Size& extent);

// The same graph where each of `wanted`, distinct inputs of any type, has one more first axis of this extent; outputs
// that depend on none of them are as they were. An operator's own gradient rule is batched with it.
// Code gradient.opaque (a kernel elsewhere is on the way).
Result<Graph> batched(const Graph& graph, const std::vector<TensorId>& wanted, const Size& extent);

}  // namespace heddle::gradient
