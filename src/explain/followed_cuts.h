// Which axes of which operations are cut where some are named: what one operation makes in parts, the next one takes
// in parts, as the addition of a bias takes those of the product before it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sharding/axes.h"
#include "support/diagnostic.h"

namespace heddle::explain {

using Cuts = std::vector<std::pair<std::string, int64_t>>;  // axes and how many parts each

// Operations that have all axes of `parts` are cut along these. Another one, before or behind a cut one, is cut along
// an axis of its own where both are the same axis: each step of both moves one whole dimension of a tensor between them
// by one element, and parts of either are parts of results. Nothing is followed through a reduction.
std::map<OperationId, Cuts> followed_cuts(const Graph& graph, const Cuts& parts);

// The same of texts, "m=2,k=3"; at least one operation. Codes cli.binding, cli.shard (there is no operation to cut),
// sharding.axis (none has all of the axes) and others of sharding::boxes_by.
Result<std::map<OperationId, Cuts>> cuts_of(const Graph& graph, const std::vector<std::string>& texts);

}  // namespace heddle::explain
