// The order in which reductions over cut axes are made whole: one whose terms need another's result comes a round later,
// as softmax's sum comes after its maximum. Each round's partial results are combined before the next begins.
#pragma once

#include <memory>
#include <vector>

#include "sharding/axes.h"
#include "symbolic/body_nodes.h"

namespace heddle::sharding {

struct CutReduction {
    NodeId node = -1;
    int32_t round = 0;
    std::vector<VariableId> variables;  // it has one result for each point of these; ascending
    std::vector<size_t> axes;           // the cut axes that it runs over, ascending
    NodeId condition = -1;              // where its value is used, if it may not be computed elsewhere
};

struct Rounds {
    // The operation's body with its variables as they are and other node numbers, and conditions added.
    std::shared_ptr<const Body> body;
    std::vector<CutReduction> reductions;  // by round, then by node
};

// `cut` says of each axis whether it is cut.
Rounds rounds_of(const Body& body, const std::vector<Axis>& axes, const std::vector<bool>& cut);

}  // namespace heddle::sharding
