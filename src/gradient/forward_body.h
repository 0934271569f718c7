// Forward mode on one typed body: from the tangents of its inputs to those of its outputs, as a body.
//
// Every node gets a tangent: how it changes when the inputs change as their tangents say. A local gets a local beside
// it, and a state a state of the same scan, so that one pass does both. Where a reduction takes the least or greatest
// of its terms, its tangent is that of the first winner.
#pragma once

#include "graph/graph.h"

namespace heddle::gradient {

struct ForwardRequest {
    const Body* body = nullptr;
    NodeList cut;                     // of the body: what nothing has a derivative through (cancelled_shift.h)
    std::vector<TensorType> inputs;   // of the body
    std::vector<TensorType> outputs;  // of the body
    std::vector<bool> given;   // by input: its tangent is known; the others' is zero. Given ones are of a float type
    std::vector<bool> needed;  // by output: its tangent is asked for. Needed ones are of a float type
};

// A body that reads the forward body's inputs, then the given tangents in the order of the inputs, and writes the
// needed ones in the order of the outputs. Code gradient.limit.
Result<Body> forward(const ForwardRequest& request);

}  // namespace heddle::gradient
