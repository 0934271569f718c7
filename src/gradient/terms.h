// Nodes of a body that grows, with what gradients ask of them: free variables, substitution, ranges of coordinates.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "graph/body_rebuild.h"
#include "graph/verify.h"
#include "symbolic/body_nodes.h"

namespace heddle::gradient {

// An element of a local: that one at `first`, and then the coordinates that it is asked at; or, `previous`, of a state
// before its present step.
struct Element {
    bool previous = false;
    LocalId local;
    std::vector<NodeId> first;
    auto operator<=>(const Element&) const = default;
};

// Free variables become values; whole nodes too, where all their variables are replaced. Where the axis of a scan has a
// value, what is previous in it is read from the state as an array.
struct Substitution {
    std::map<VariableId, NodeId> variables;
    std::map<NodeId, NodeId> nodes;
    // What stands for a state that is read as an array at `step`, which is replaced, plus so much.
    VariableId step = no_id;
    std::map<std::pair<LocalId, int64_t>, Element> states;
};

class Terms {
public:
    // A copy of `forward` goes into `body`, which outlives this: variables, tensors keep their numbers; index axes
    // become parallel ones, so that the new body may have others.
    // `shapes`: of the tensors that it reads.
    Terms(const Body& forward, Body& body, std::vector<std::vector<int64_t>> shapes);

    BodyNodes& nodes() { return nodes_; }
    const Node& node(NodeId id) const { return body_.node(id); }
    const Body& body() const { return body_; }
    int64_t extent(TensorIndex tensor, size_t dimension) const { return shapes_[tensor][dimension]; }
    // The number here of a node of the forward body.
    NodeId copied(NodeId forward) const { return copied_.find(forward); }
    LocalId copied(LocalId forward) const;  // one that is read

    NodeList copied(NodeList forward) const {
        for (NodeId& id : forward) id = copied(id);
        return forward;
    }

    const std::vector<VariableId>& free(NodeId id);  // ascending
    bool depends(NodeId id, VariableId variable);
    std::vector<VariableId> outer(LocalId local);  // free variables of a local's value that are not its own
    NodeId substitute(NodeId id, const Substitution& by);
    // Of a coordinate that is a variable plus a number, these.
    std::optional<std::pair<VariableId, int64_t>> place_of(NodeId id) const;
    // The values of an int64 node, as far as they follow from extents; the variables' extents are at least one.
    Interval range(NodeId id);
    // Conditions under which `value` is one of a variable's of this extent; none where that is always so.
    NodeList inside(NodeId value, const Size& extent);
    // Whether the node can be computed wherever it stands: its reads are proved to be inside of what they read.
    bool safe(NodeId id);
    // Safe, and neither a reduction nor a local is below: cheap to ask anywhere.
    bool plain(NodeId id);
    bool worth_storing(NodeId id) const;  // it takes more than reading it
    // A local with the values of `id` over `axes`, which are among its free variables; the same for the same question.
    LocalId stored(NodeId id, std::span<const VariableId> axes);

    NodeId scalar(ScalarOp op, NodeList operands) { return nodes_.scalar(op, std::move(operands)); }
    NodeId number(int64_t value) { return nodes_.integer(value, DType::int64, true); }
    NodeId size(const Size& value) { return nodes_.sized_integer(value, DType::int64, true); }
    NodeId plus_multiple(NodeId sum, NodeId value, int64_t factor);  // sum + factor * value

private:
    class Scope;
    struct Substituted;
    Interval made_range(const Node& node);
    bool made_safe(NodeId id);
    bool made_plain(NodeId id);

    Body& body_;
    BodyNodes nodes_;
    NodeTable copied_;
    std::map<LocalId, LocalId> copied_locals_;
    std::vector<std::vector<VariableId>> free_;
    std::vector<std::vector<int64_t>> shapes_;
    std::map<NodeId, Interval> ranges_;
    std::map<NodeId, bool> safe_, plain_;
    std::map<std::pair<NodeId, std::vector<VariableId>>, LocalId> stored_;
    // Locals under substitutions: of which, the values of its outer variables, of nodes, of states.
    std::map<std::tuple<LocalId, std::vector<std::pair<VariableId, NodeId>>, std::map<NodeId, NodeId>,
                        std::map<std::pair<LocalId, int64_t>, Element>>,
             LocalId>
        copies_;
};

}  // namespace heddle::gradient
