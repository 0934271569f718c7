// How much work a graph is, before anything runs: models are untrusted, and a file of 200 bytes can ask for years.
#pragma once

#include "graph/graph.h"

namespace heddle {

// Scalar operations (arithmetic, comparisons, reads, terms of reductions, stores) that the body's elements take, each
// value computed once for each point of the variables that it depends on; scatters visit each term once. Coordinates
// that are affine count as nothing. What fusion or a better algorithm saves is not foreseen. `body` is verified.
double scalar_operations(const Body& body);

// What a run may take if nobody says another number.
inline constexpr double default_work = 1e13;

// Of all operations of the graph.
double scalar_operations(const Graph& graph);

// Whether all operations of the graph together stay within `share` of `limit`. Code: evaluate.too_much_work, which
// names the operation that takes most, and `option`, by which the limit is raised.
Result<void> check_work(const Graph& graph, double limit, double share, const std::string& option);

}  // namespace heddle
