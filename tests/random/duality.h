// Whether the adjoints and the tangents of a graph are each other's transposes: two derivations that share the rules of
// scalar functions alone.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace heddle::random {

// For random tangents t and adjoints d: sum(d * J t) and sum(J' d * t) agree, in double. What is wrong, or nothing; also
// nothing where a number is infinite or none, or where it is much work.
std::string duality(const Graph& graph, const std::vector<TensorData>& feeds);

}  // namespace heddle::random
