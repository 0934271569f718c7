// Halves that are summed: between operations they keep float32, so that neither squares nor their sum leave the range of a half
// (docs/language.md, "Bodies"). A rule of the graph, so that it holds fused and unfused, and for the evaluator.
#pragma once

#include "graph/graph.h"

namespace heddle {

// float16 and bfloat16 tensors that are neither inputs, outputs nor constants become float32 where
// - a pointwise operation makes what others read only as the terms of sums, of a quarter of the elements at most;
// - such a sum is the result, be it scaled (a mean);
// - a pointwise or moving operation makes it of such results and of single elements.
// TensorIds and OperationIds stay.
Graph keep_sums_wide(const Graph& graph);
bool has_wide_sums(const Graph& graph);

}  // namespace heddle
