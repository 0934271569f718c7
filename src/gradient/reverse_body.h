// Reverse mode on one typed body: from the adjoints of its outputs to the adjoints of its inputs, as a body.
//
// Every node gets an adjoint, a value with the node's own free variables: where a user has more of them, the adjoint is
// summed over these at once. Reads and locals hand theirs on as gather.h says. Of equals the first has the whole
// adjoint of a maximum or minimum, as the first wins forward. A scan is run through in the other direction.
#pragma once

#include <optional>

#include "gradient/checkpoints.h"

namespace heddle::gradient {

struct ReverseRequest {
    const Body* body = nullptr;
    NodeList cut;                     // of the body: what nothing has a derivative through (cancelled_shift.h)
    std::vector<TensorType> inputs;   // of the body
    std::vector<TensorType> outputs;  // of the body
    std::vector<bool> given;  // by output: its adjoint is known; the others' is zero. Given ones are of a float type
    std::vector<int32_t> wanted;               // inputs of a float type
    bool reads_results = false;                // the outputs may be read, behind the adjoints
    const Checkpoints* checkpoints = nullptr;  // of the body's scan: these outputs are read, too
};

// A body that reads the forward body's inputs, then the given adjoints in the order of the outputs, and writes output
// i, the adjoint of wanted input i. No equation of those where it is zero. Code gradient.limit.
Result<Body> reverse(const ReverseRequest& request);

// The same of a body with one scan, of whose states there are checkpoints. One scan runs backwards; while it goes
// through one segment, it works out again the states of the next one (reverse_segments.cpp). Nothing where the adjoints
// need no states, or states of more than one step and the next at a time.
Result<std::optional<Body>> reverse_by_segments(const ReverseRequest& request);

}  // namespace heddle::gradient
