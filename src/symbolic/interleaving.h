// Equations that write interleaved parts of one output.
#pragma once

#include <vector>

#include "support/source_text.h"
#include "symbolic/body_nodes.h"

namespace heddle {

// y[2 * i] = a and y[2 * i + 1] = b, over the same variables or variables of their own of the same extents, become
// y[2 * i + c] = c == 0 ? a : b, where c is a new variable: what one equation may write is what proofs, shards and
// gradients know. `places` has one a equation.
void join_interleaved(Body& body, BodyNodes& nodes, std::vector<const Place*>& places);

}  // namespace heddle
