// The extended index of one operation as axes that a shard may cut: the index axes, then one axis for each further
// dimension of an output and each reduced or ordered extent (docs/sharding.md). Variables that read the same dimension
// of the same input alike, and never both in one value, are one axis: softmax's `k`, `k` and `j`.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "support/diagnostic.h"

namespace heddle::sharding {

// How one dimension of a tensor moves along an axis: each step of the axis moves the box by `step` elements, and it is
// `window` elements wide. A dimension of which every part of the axis may read anything has step 0.
struct Movement {
    int32_t dimension = 0;
    int64_t step = 0;
    int64_t window = 0;

    // Elements that two neighbouring parts both need.
    int64_t halo() const { return step == 0 ? 0 : window > std::abs(step) ? window - std::abs(step) : 0; }
    bool operator==(const Movement& other) const = default;
};

struct Axis {
    std::string name;
    Size extent;
    std::vector<VariableId> variables;  // cut together; none of an operation without a body
    int32_t column = -1;                // the position among the index axes, or -1
    bool passed = false;                // parts of it are parts of outputs
    bool ordered = false;  // a scan runs over it: a part begins with the states that the one before ends with
    std::vector<NodeId> reductions;     // over one of its variables: their parts give partial results
    // For each input the dimensions that move; none: all shards read the same.
    std::vector<std::vector<Movement>> inputs;
    std::vector<std::vector<Movement>> outputs;  // for each output
    std::optional<size_t> fold;                  // of the operation's: parts of it give partial outputs
    std::optional<Diagnostic> refusal;           // why it cannot be cut

    bool contains(VariableId id) const;
};

// Codes of refusals: sharding.ordered_axis (states of a scan are read along it, and not step by step), sharding.state (each
// step needs the state along all of the axis), sharding.condition (what keeps its reduction from reading outside cannot be
// asked apart), sharding.reads (the body is too large for what it reads to be known), sharding.output_box (a part of the
// axis is no box of an output).
std::vector<Axis> axes_of(const Graph& graph, const Operation& operation);

// The reduction nodes that equations reach, in the order of their numbers.
std::vector<NodeId> reductions_of(const Body& body);

}  // namespace heddle::sharding
