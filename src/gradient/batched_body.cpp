#include "gradient/batched_body.h"

#include <algorithm>
#include <set>
#include <utility>

#include "graph/body_rebuild.h"

namespace heddle::gradient {
namespace {

// The states of a body that follow from a read of a given tensor. They may read one another, so that it is asked again
// until none is new.
std::set<LocalId> dependent_states(const Body& body, const std::vector<bool>& given) {
    std::set<LocalId> states;
    for (bool more = true; std::exchange(more, false);) {
        std::vector<bool> depends(body.nodes.size());
        auto is_dependent = [&](NodeId id) { return id != no_id && depends[static_cast<size_t>(id)]; };
        for (NodeId id(0); id < next_id<NodeId>(body.nodes); ++id) {
            const Node& node = body.node(id);
            bool here = std::ranges::any_of(node.operands, is_dependent);
            if (node.is_read()) here = here || given[node.tensor()];
            if (node.kind == Node::Kind::local || node.kind == Node::Kind::previous) {
                const Local& local = body.local(node.local());
                here = here || (local.is_state() ? states.contains(node.local()) : is_dependent(local.value));
            }
            depends[static_cast<size_t>(id)] = here;
        }
        for (LocalId id(0); id < next_id<LocalId>(body.locals); ++id) {
            const Local& local = body.local(id);
            if (local.is_state() && (is_dependent(local.value) || is_dependent(local.initial)))
                more = states.insert(id).second || more;
        }
    }
    return states;
}

// Locals have the new axis as they have any that their values use; states, which use none but their own, get it.
class Batching : public BodyRebuild<Batching> {
public:
    Batching(const Body& from, const std::vector<bool>& given, const Size& extent, Body& to)
        : BodyRebuild(from, to), given_(given), dependent_(dependent_states(from, given)) {
        to.variables.push_back({"batch", Variable::Kind::index, extent});
        batch_ = last_id<VariableId>(to.variables);
        Node node;
        node.kind = Node::Kind::variable;
        node.dtype = DType::int64;
        node.index = batch_;
        to.nodes.push_back(std::move(node));
        batch_node_ = last_id<NodeId>(to.nodes);
    }

    void run() {
        for (const BodyEquation& equation : from_.equations) {
            BodyEquation made{equation.output, {batch_}, {batch_node_}, no_id};
            for (VariableId variable : equation.variables) made.variables.push_back(this->variable(variable));
            for (NodeId left : equation.left) made.left.push_back(value(left));
            made.value = value(equation.value);
            to_.equations.push_back(std::move(made));
        }
        finish_states();
        for (LocalId state : longer_) {
            VariableList& variables = to_.locals[static_cast<size_t>(state)].variables;
            variables = with(variables, 1, batch_);
        }
    }

private:
    friend NodeRebuild<Batching>;
    friend BodyRebuild<Batching>;

    template <typename List, typename Id>
    static List with(const List& list, size_t place, Id id) {
        List longer;
        for (size_t i = 0; i < list.size(); ++i) {
            if (i == place) longer.push_back(id);
            longer.push_back(list[i]);
        }
        if (place == list.size()) longer.push_back(id);
        return longer;
    }

    NodeId add(NodeId from, Node node) {
        const Node& old = from_.node(from);
        const bool is_previous = node.kind == Node::Kind::previous;
        if (node.is_read() && given_[old.tensor()]) node.operands = with(node.operands, 0, batch_node_);
        if ((is_previous || node.kind == Node::Kind::local) && dependent_.contains(old.local())) {
            node.operands = with(node.operands, is_previous ? 0 : 1, batch_node_);
            longer_.insert(node.local());
        }
        to_.nodes.push_back(std::move(node));
        return last_id<NodeId>(to_.nodes);
    }

    const std::vector<bool>& given_;
    const std::set<LocalId> dependent_;
    std::set<LocalId> longer_;  // the same in the new body
    VariableId batch_ = no_id;
    NodeId batch_node_ = no_id;
};

}  // namespace

Body batched(const Body& body, const std::vector<bool>& given, const Size& extent) {
    Body made;
    Batching(body, given, extent, made).run();
    return made;
}

}  // namespace heddle::gradient
