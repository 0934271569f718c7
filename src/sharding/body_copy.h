// Copies values from one body into another while their variables run over a part of their range, whole values are
// replaced by reads of what was computed before, and coordinates count from the start of a tensor's region.
#pragma once

#include <map>
#include <vector>

#include "graph/body_rebuild.h"
#include "symbolic/body_nodes.h"
#include "zspace/box.h"

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
    TensorIndex input;
    Corner start;
};

// A value that another operation has computed: element [variables...] of an input.
struct StoredValue {
    TensorIndex input;
    VariableList variables;
};

class BodyCopy : public BodyRebuild<BodyCopy> {
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
    void replace(NodeId node, NodeId made) { made_.set(node, made); }

private:
    friend NodeRebuild<BodyCopy>;
    friend BodyRebuild<BodyCopy>;

    std::optional<NodeId> replaced(NodeId node);
    VariableId make_variable(VariableId id);
    TensorIndex tensor(TensorIndex id) const { return inputs_.empty() ? id : inputs_[id].input; }
    NodeId add(NodeId from, Node node);
    NodeId value_of(VariableId variable);  // the new one, counted from the start of its part

    BodyNodes& nodes_;
    std::map<VariableId, Range> parts_;
    std::vector<InputRegion> inputs_;
    std::map<NodeId, StoredValue> stored_;
    std::vector<int64_t> begins_;
};

// node + by; a sum with a literal takes it in.
NodeId plus(BodyNodes& nodes, NodeId node, int64_t by);

}  // namespace heddle::sharding
