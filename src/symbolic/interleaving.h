// Equations whose left sides are no boxes: what one equation may write is what proofs, shards and gradients know.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "support/source_text.h"
#include "symbolic/body_nodes.h"
#include "symbolic/left_sides.h"

namespace heddle {

// y[2 * i] = a and y[2 * i + 1] = b, over the same variables or variables of their own of the same extents, become
// y[2 * i + c] = c == 0 ? a : b, where c is a new variable; so do blocks, y[2 * m * i + j] and y[2 * m * i + m + j].
// `places` has one an equation.
void join_interleaved(Body& body, BodyNodes& nodes, std::vector<const Place*>& places);

// The equations of one output as one that asks each element which of them writes it, and with which values of its
// variables; each element is written once. A dimension along which all go alike keeps its variable. False: too large.
bool join_by_elements(Body& body, BodyNodes& nodes, std::span<const LeftSide> sides, std::span<const Size> extents,
                      const std::string& name);

}  // namespace heddle
