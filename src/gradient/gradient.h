// Gradients of graphs: reverse mode, operation by operation (docs/gradients.md). What it makes are operations with
// typed bodies like all others: verified, lowered, fused and run by the same parts.
#pragma once

#include <vector>

#include "gradient/checkpoints.h"

namespace heddle::gradient {

// Whether tensors of the type have adjoints and tangents.
inline bool is_differentiable(DType dtype) { return is_float(dtype) || is_complex(dtype); }

// From the graph's inputs, then an adjoint "d_NAME" of each output of a float or complex type, to the adjoints "d_NAME"
// of `wanted`, in their order: the sum over all elements of all outputs of adjoint times derivative. Of a complex number
// the adjoint's parts are those of its parts: it points where a real result grows the fastest.
// Codes: gradient.input (wanted is no input of the graph, or not of such a type), gradient.output (no output is of such
// a type), gradient.opaque (a kernel elsewhere is on the way), gradient.limit.
// With `between`, scans keep some of their states only (checkpoints.h), and their adjoints take less memory and one more
// forward computation.
Result<Graph> gradient(const Graph& graph, const std::vector<TensorId>& wanted, const StepsBetween& between = {});

// The same, with `values`, any tensors of the graph, before the adjoints: what both need is computed once.
Result<Graph> value_and_gradient(const Graph& graph, const std::vector<TensorId>& wanted,
                                 const std::vector<TensorId>& values, const StepsBetween& between = {});

// The same as gradient(), of a graph of reals. An adjoint that follows from the result of an operation (of exp, tanh,
// sqrt) reads it, and does not work it out again of the operation's inputs.
Result<Graph> gradient_of_results(const CheckpointedGraph& graph, const std::vector<TensorId>& wanted);

}  // namespace heddle::gradient
