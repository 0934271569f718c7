// The order in which reductions over cut axes are made whole: one whose terms need another's result comes a round
// later, as softmax's sum comes after its maximum. Each round's partial results are combined before the next begins.
#pragma once

#include <memory>
#include <vector>

#include "sharding/axes.h"
#include "symbolic/body_nodes.h"
#include "zspace/box.h"

namespace heddle::sharding {

// A sum of exp(a - g) * b, where g follows from a maximum over the same axes: each part may use its own maximum's g,
// since exp(a - g) = exp(a - g') * exp(g' - g). (Milakov and Gimelshein, Online normalizer calculation for softmax,
// 2018.)
struct Rescaled {
    NodeId maximum = no_id;
    NodeId shift = no_id;               // g
    std::vector<VariableId> variables;  // of the maximum

    bool is_given() const { return maximum >= 0; }
};

struct CutReduction {
    NodeId node = no_id;
    int32_t round = -1;
    std::vector<VariableId> variables;  // it has one result for each point of these; ascending
    std::vector<size_t> axes;           // the cut axes that it runs over, ascending
    NodeId condition = no_id;           // where its value is used, if it may not be computed elsewhere
    Rescaled rescaled;                  // in the same round as its maximum
};

struct Rounds {
    // The operation's body with its variables as they are and other node numbers, and conditions added.
    std::shared_ptr<const Body> body;
    std::vector<CutReduction> reductions;  // by round, then by node
};

// `cut` says of each axis whether it is cut, `extents` the inputs' sizes; `rescale` whether sums that can be are
// computed with their maximum.
Rounds rounds_of(const Body& body, const std::vector<Corner>& extents, const std::vector<Axis>& axes,
                 const std::vector<bool>& cut, bool rescale);

}  // namespace heddle::sharding
