// A scan in parts. Its states become a tensor each, with a value for each step, which exists as the pieces that parts of the
// scan write: a part begins with what the one before it has written last. What reads a state elsewhere reads the tensor:
// then the scan's axis is one like others.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "sharding/body_copy.h"
#include "sharding/rounds.h"
#include "zspace/box.h"

namespace heddle::sharding {

// A state as a tensor: element [i, ...] is the state before step i; behind the last step there is one element more.
struct History {
    LocalId state;  // of the body before
    TensorId tensor;
    std::string name;
    // Steps that anything but the scan's next step reads; none: it is empty.
    int64_t begin = 0, end = 0;
};

// A body apart: what computes states of one scan, and the rest, which reads histories behind its other inputs.
struct ScanApart {
    Body states;  // equation number h writes history number h as a whole
    Body rest;
    std::vector<History> histories;
};

// States of one scan that need none of its others, of a body with so many inputs; tensors are not made yet.
ScanApart scan_apart(const Body& body, const std::vector<LocalId>& states, size_t inputs);
// The type of a history.
TensorType type_of_history(const Body& body, LocalId state);

// Some of a scan's steps.
struct ScanPart {
    Range steps;
    bool is_last = false;
    std::map<VariableId, Range> ranges;  // of the variables of locals, the scan's axis too
    std::vector<std::pair<NodeId, StoredValue>> stored;
    TensorIndex first_history;  // that is the input of this number
};
// What they write of each history; nothing: nobody reads it. `states` is ScanApart's, perhaps with other node numbers.
void write_scan_part(Body& into, const Body& states, const std::vector<History>& histories, const ScanPart& part);

// Of the scans over these variables, the states of one whose states need no other's: all, but for those that need a reduction
// over a cut axis that itself needs states of the scan. (That one is made whole when these are known.) None: there are none
// in the body any more, which is that of the rounds.
std::vector<LocalId> next_states(const Rounds& rounds, const std::vector<VariableId>& steps);

}  // namespace heddle::sharding
