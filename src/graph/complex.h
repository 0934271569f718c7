// Complex numbers taken apart into reals. Graphs and bodies hold complex tensors and elements as the user wrote them;
// whatever computes (the evaluator, equations) sees reals only: a complex tensor lies in memory as NumPy's does, real
// and imaginary part side by side, so that its elements are reals of one more last dimension of 2.
#pragma once

#include "graph/graph.h"

namespace heddle {

// complex64[n] is stored as float32[n, 2]; any other type as it is.
TensorType stored_type(TensorType type);

bool has_complex(const Body& body);
bool has_complex(const Graph& graph);  // in a tensor or in a body

// The same body on stored tensors, in order and number. What nothing needs is not computed. The body is verified.
//
// Products are (a + bi)(c + di) = (ac - bd) + (ad + bc)i and quotients Smith's (1962: no overflow of squares), as in
// NumPy. A real number that was cast to complex counts as real: 2 z is (2a, 2b), also where b is infinite. An absolute
// value is that of hypot.
Body lower_complex(const Body& body);
// The same graph on stored tensors: TensorIds and OperationIds stay. Operations on complex numbers lose a gradient rule
// of their own.
Graph lower_complex(const Graph& graph);

}  // namespace heddle
