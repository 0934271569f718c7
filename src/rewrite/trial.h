// Operators tried on made-up tensors until they are seen to work, or it is known why not.
#pragma once

#include <optional>

#include "graph/graph.h"
#include "language/library.h"

namespace heddle::rewrite {

// What became of the trials of one template. One that was seen to work has neither: a use of it was applied, typed, and
// its footprint and cover proved.
struct Trial {
    // What is wrong whatever it is applied to, said of the plainest use, or of the one that came farthest.
    Diagnostics mistakes;
    // Nothing worked, and it is not known that nothing can. Code rewrite.not_shown, with the reason.
    std::optional<Diagnostic> not_shown;
};

// Tried are: the inputs that must be there, and all; several values of each parameter. Where only sizes below 3 work, or
// only equal ones of dimensions that have different names, or only an open list of none, this is a mistake as well. The
// work is bounded, and the same each time.
Trial try_operator(const Template& metakernel, const Library& library);

// The graph of the first use that succeeds and has no dimension below 3, with all inputs of the operator that may be
// given; none where there is none.
std::optional<Graph> made_up_use(const Template& metakernel, const Library& library);

}  // namespace heddle::rewrite
