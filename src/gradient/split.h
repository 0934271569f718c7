// Reverse mode in two programs, with a tape between them (docs/gradients.md, "The tape").
#pragma once

#include <vector>

#include "gradient/tape.h"

namespace heddle::gradient {

struct SplitRequest {
    std::vector<TensorId> wanted;       // as for gradient()
    std::vector<TensorId> overwritten;  // inputs and outputs whose values are gone when the reverse program runs
    TapePolicy policy;
};

struct Split {
    Graph forward;  // from the inputs to the outputs, then the tape's entries
    Graph reverse;  // from the inputs and outputs that are not overwritten (no constants, such as an output without
                    // elements), the entries, and the adjoints of the outputs, to those of what is wanted
    TapeLayout tape;
};

// Both passes of graph's gradient. Values inside of operations count as tensors here (outlined.h). An empty tape means
// that the forward program is the graph itself. Of complex numbers the parts are kept. Codes: those of gradient();
// gradient.tape_budget (no choice is of so few bytes).
Result<Split> split(const Graph& graph, const SplitRequest& request);

struct TapeQuestion {
    TapePolicy policy;
    std::vector<TensorId> overwritten;
};

// The tapes alone, for several questions about one gradient, which is derived once.
Result<std::vector<TapeLayout>> tape_layouts(const Graph& graph, const std::vector<TensorId>& wanted,
                                             const std::vector<TapeQuestion>& questions);

}  // namespace heddle::gradient
