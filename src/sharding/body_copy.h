// Copies values from one body into another while their variables run over a part of their range, whole values are
// replaced by reads of what was computed before, and coordinates count from the start of a tensor's region.
#pragma once

#include <map>
#include <vector>

#include "symbolic/body_nodes.h"

namespace heddle::sharding {

// begin <= v < end
struct Range {
    int64_t begin = 0, end = 0;

    int64_t length() const { return end - begin; }
    bool operator==(const Range& other) const = default;
    auto operator<=>(const Range& other) const = default;
};

// The input that stands for another, and the element of it at which its own coordinates start.
struct InputRegion {
    int32_t input = 0;
    std::vector<int64_t> start;
};

// A value that another operation has computed: element [variables...] of an input.
struct StoredValue {
    int32_t input = 0;
    VariableList variables;
};

class BodyCopy : private StateCopies {
public:
    // `from` outlives this. Values go into `to`'s body, which is `into`.
    BodyCopy(const Body& from, BodyNodes& to, Body& into);

    // Variables of reductions and locals run over their part where one is given, else over all of it.
    void restrict(std::map<VariableId, Range> parts) { parts_ = std::move(parts); }
    void move_inputs(std::vector<InputRegion> inputs) { inputs_ = std::move(inputs); }
    // From here on `variable` is `made + begin`.
    void bind(VariableId variable, VariableId made, int64_t begin);
    // A new variable over `part` of an old one.
    VariableId bind_part(VariableId variable, Variable::Kind kind, Range part);
    // Of this node only a read is made.
    void store(NodeId node, StoredValue value) { stored_[node] = std::move(value); }

    // From here on this stands for the copy of a node.
    void replace(NodeId node, NodeId made) { nodes_[static_cast<size_t>(node)] = made; }

    NodeId copy(NodeId node);
    // What stands for a variable: the new one, counted from the start of its part.
    NodeId value_of(VariableId variable);
    // The new variable; it is made if there is none yet.
    VariableId variable(VariableId id);

private:
    NodeId value(NodeId node);
    int32_t local(int32_t id);
    int32_t number_state(int32_t id) override;
    void copy_values(int32_t id) override;
    NodeId read(const Node& node);
    NodeId read_local(const Node& node);

    const Body& from_;
    BodyNodes& to_;
    Body& into_;
    std::map<VariableId, Range> parts_;
    std::vector<InputRegion> inputs_;
    std::map<NodeId, StoredValue> stored_;
    std::vector<NodeId> nodes_;
    VariableList variables_;
    std::vector<int64_t> begins_;
    std::vector<int32_t> locals_;
};

// node + by; a sum with a literal takes it in.
NodeId plus(BodyNodes& nodes, NodeId node, int64_t by);

}  // namespace heddle::sharding
