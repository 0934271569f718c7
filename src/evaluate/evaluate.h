// The oracle: interprets typed bodies over blocks of points (docs/facts: seven times faster than a tree walked point by
// point). Every other path through the compiler is compared with it.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace heddle {

enum class Precision : uint8_t {
    body,   // each node in its own type: what generated code must agree with
    exact,  // floats in double throughout, roundings to half types kept out: what the mathematics says
};

// Values of the outputs of one body. `inputs` are in the operation's order, of the body's dtypes. An indirect index out
// of range, or a read outside its tensor, is an error that names the point (code evaluate.out_of_range).
// In exact arithmetic, a float input or output may be held as float64 whatever its dtype is.
// Outputs whose box this operation does not cover stay as they are in `outputs`, which has storage of the right types.
// Complex tensors are computed by their parts (graph/complex.h), and are of complex types here; bounded ones are reals.
Result<void> evaluate_body(const Body& body, const std::vector<TensorData>& inputs, std::vector<TensorData>& outputs,
                           Precision precision);

// A value with a bound on its distance from the exact one (docs/equality.md): element i of `bound` is float64.
struct BoundedTensor {
    TensorData value;  // float tensors: float64, the exact arithmetic's value; others: their own type
    TensorData bound;  // float64; none (no data) means zero everywhere; infinite where a comparison, rounding or argmax
                       // lies within its bound of a switch
};

// Outputs come with storage for values (float tensors: float64) and bounds.
Result<void> evaluate_body_bounded(const Body& body, const std::vector<BoundedTensor>& inputs,
                                   std::vector<BoundedTensor>& outputs);

// Whole graphs. `feeds` are the graph inputs in order; the result is one tensor per graph tensor (constants and inputs
// included, as they were given; in exact arithmetic other floats are float64), by TensorId; tensors that no operation
// with a body makes are an error (evaluate.opaque). Complex tensors have their types, in exact arithmetic complex128;
// bounded, they are reals with one more last dimension of 2.
Result<std::vector<TensorData>> evaluate_graph(const Graph& graph, const std::vector<TensorData>& feeds,
                                               Precision precision);
Result<std::vector<BoundedTensor>> evaluate_graph_bounded(const Graph& graph, const std::vector<TensorData>& feeds);

}  // namespace heddle
