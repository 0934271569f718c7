// Forward mode of graphs, operation by operation (docs/gradients.md).
#pragma once

#include <vector>

#include "graph/graph.h"

namespace heddle::gradient {

// From the graph's inputs, then a tangent "t_NAME" of each of `wanted`, which are distinct, to the tangents "t_NAME" of the outputs of a
// float type, in their order, each once: how these change when what is wanted changes so. A rule of an operator's own
// (`grad`) is followed: what it makes is linear in adjoints, and is transposed. Codes: those of gradient().
Result<Graph> tangents(const Graph& graph, const std::vector<TensorId>& wanted);

// The same, with `values`, any tensors of the graph, before the tangents: what both need is computed once.
Result<Graph> value_and_tangents(const Graph& graph, const std::vector<TensorId>& wanted,
                                 const std::vector<TensorId>& values);

}  // namespace heddle::gradient
