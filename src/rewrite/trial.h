// Operators tried on made-up tensors, for what is wrong whatever they are applied to.
#pragma once

#include <optional>
#include <string>

#include "graph/graph.h"
#include "language/library.h"

namespace heddle::rewrite {

// What became of the trials of one template.
struct Trial {
    // Every made-up use that fits the inputs and parameters fails: the first such failure. Empty where one succeeds.
    Diagnostics mistakes;
    // Why nothing is known of it: no made-up use fits, or each waits for values. Empty where it is known.
    std::string untried;
};

// Random instances, dimensions of 0 and 1 among them, and dtypes that the constraints allow, until one is applied.
// Failures of a body that do not depend on dtypes count from a few on; of others many are tried first. The work is
// bounded, and the same each time.
Trial try_operator(const Template& metakernel, const Library& library);

// The graph of the first of these uses that succeeds and has no dimension below 2, with all inputs of the operator that
// may be given; none where there is none.
std::optional<Graph> made_up_use(const Template& metakernel, const Library& library);

}  // namespace heddle::rewrite
