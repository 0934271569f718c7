// A graph in finer operations: what a body computes on the way becomes tensors, so that a tape may hold them. Fusion
// makes one kernel of it again.
#pragma once

#include "graph/graph.h"

namespace heddle::gradient {

// The same graph, where each value of a body over axes of its equations alone that others are multiplied with, divided
// by or mapped from, or that several read, is the result of an operation of its own, "OPERATION.value". Operations with
// scans or local arrays, with a rule of their own for gradients, without bodies, or with more than `most` such values
// stay as they are. Tensors and inputs keep their numbers.
Graph outlined(const Graph& graph, size_t most = 256);

}  // namespace heddle::gradient
