// Reverse mode on one typed body: from the adjoints of its outputs to the adjoint of one of its inputs, as a body.
//
// Every node gets an adjoint, a value with the node's own free variables: where a user has more of them, the adjoint is
// summed over these at once. Reads and locals hand theirs on as gather.h says. Of equals the first has the whole
// adjoint of a maximum or minimum, as the first wins forward. A scan is run through in the other direction.
#pragma once

#include "graph/graph.h"

namespace heddle::gradient {

struct ReverseRequest {
    const Body* body = nullptr;
    std::vector<TensorType> inputs;   // of the body
    std::vector<TensorType> outputs;  // of the body
    std::vector<bool> given;     // by output: its adjoint is known; the others' is zero. Given ones are of a float type
    int32_t wanted = 0;          // an input of a float type
    bool reads_results = false;  // the outputs may be read, behind the adjoints
};

// A body that reads the forward body's inputs, then the given adjoints in the order of the outputs, and writes output
// 0, the adjoint of the wanted input. No equations where that is zero. Code gradient.limit.
Result<Body> reverse(const ReverseRequest& request);

}  // namespace heddle::gradient
