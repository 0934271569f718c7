// Rebuilding of bodies: values of one body become values of another, or of the same, each node once, operands before
// users, so that what was shared is still shared. Recursion is as deep as the body. What differs between rebuilders is
// a function of theirs that hides one of the base's, found when it is compiled.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "graph/body.h"

namespace heddle {

// Which node stands for each node of a body.
class NodeTable {
public:
    explicit NodeTable(size_t nodes) : made_(nodes) {}

    NodeId find(NodeId id) const { return made_[id]; }  // none yet: no_id
    NodeId set(NodeId id, NodeId made) { return made_[id] = made; }
    const InlineVector<NodeId, 64>& all() const { return made_; }

private:
    InlineVector<NodeId, 64> made_;
};

// The nodes alone. `Derived` has
//
//   NodeId add(NodeId from, Node node)   the copy of `from`, whose operands, variables and index are the new ones
//
// and may have its own of the functions below. `Made` is a NodeTable, or anything that has its find and set.
template <typename Derived, typename Made = NodeTable>
class NodeRebuild {
public:
    NodeId value(NodeId id) {
        if (const NodeId known = made_.find(id); known != no_id) return known;
        if (const std::optional<NodeId> other = self().replaced(id)) return made_.set(id, *other);
        // No reference into the body is kept: it may be the one that grows.
        VariableList variables = from_.node(id).variables;
        NodeList operands = from_.node(id).operands;
        for (VariableId& variable : variables) variable = self().variable(variable);
        for (NodeId& operand : operands) operand = value(operand);
        const int32_t index = index_of(from_.node(id));
        if (const NodeId known = made_.find(id); known != no_id)
            return known;  // a state that it reads holds the same node
        Node copy = self().take(id);
        copy.variables = std::move(variables);
        copy.operands = std::move(operands);
        copy.index = index;
        return made_.set(id, self().add(id, std::move(copy)));
    }

protected:
    NodeRebuild(const Body& from, Made made) : from_(from), made_(std::move(made)) {}
    ~NodeRebuild() = default;

    // What stands for a node instead of its copy.
    std::optional<NodeId> replaced(NodeId) { return std::nullopt; }
    // The new numbers.
    VariableId variable(VariableId id) { return id; }
    TensorIndex tensor(TensorIndex id) { return id; }
    LocalId local(LocalId id) { return id; }     // where it is read as an array
    LocalId previous(LocalId id) { return id; }  // where the step before is read
    // The node itself; its operands, variables and index are set behind this.
    Node take(NodeId id) { return from_.node(id); }

    const Body& from_;
    Made made_;

private:
    Derived& self() { return static_cast<Derived&>(*this); }
    int32_t index_of(const Node& node) {
        switch (node.kind) {
        case Node::Kind::variable: return self().variable(node.variable());
        case Node::Kind::local: return self().local(node.local());
        case Node::Kind::previous: return self().previous(node.local());
        case Node::Kind::read:
        case Node::Kind::guarded_read: return self().tensor(node.tensor());
        default: return node.index;
        }
    }
};

// When the states of a copy are made: one is numbered when it is first read, since its values may read it. Behind the
// present step its values are copied first; elsewhere those of all states of its scan that an equation uses.
class StateCopies {
public:
    explicit StateCopies(const Body& from);

protected:
    ~StateCopies() = default;
    virtual LocalId number_state(LocalId state) = 0;  // a new local for an old state, without values
    virtual void copy_values(LocalId state) = 0;

    LocalId previous_state(LocalId state);  // the new number, for a read of the step before
    LocalId read_state(LocalId state);      // the new number, for any other read
    void finish_states();                   // the values of all that were numbered

private:
    VariableId scan_of(LocalId state) const { return source_.local(state).variables[0]; }
    void finish_state(LocalId state);
    void finish_scan(VariableId scan);

    const Body& source_;
    std::set<LocalId> used_;  // states that the source's equations use
    std::map<LocalId, LocalId> numbers_;
    std::set<LocalId> open_;  // numbered, their values not copied yet
    std::set<VariableId> running_;
};

// With the variables and locals that the values use, which are made in `to` when they are first used. `Derived` may
// have its own
//
//   VariableId make_variable(VariableId from)
//
// After the last `value`, finish_states() completes the scans; `copy` is both.
template <typename Derived>
class BodyRebuild : public NodeRebuild<Derived>, private StateCopies {
    using Base = NodeRebuild<Derived>;

public:
    NodeId copy(NodeId id) {
        const NodeId made = this->value(id);
        finish_states();
        keep_notes();
        return made;
    }
    // The new variable; it is made if there is none yet.
    VariableId variable(VariableId id) {
        VariableId& made = variables_[id];
        return made != no_id ? made : made = self().make_variable(id);
    }

protected:
    friend Base;

    BodyRebuild(const Body& from, Body& to)
        : Base(from, NodeTable(from.nodes.size())),
          StateCopies(from),
          to_(to),
          variables_(from.variables.size()),
          locals_(from.locals.size()) {
        for (const NodeName& name : from.names) names_.push_back(&name);
        for (const ReadPlace& place : from.places) places_.push_back(&place);
    }
    ~BodyRebuild() = default;

    VariableId make_variable(VariableId id) {
        to_.variables.push_back(this->from_.variable(id));
        return last_id<VariableId>(to_.variables);
    }
    NodeId add(NodeId, Node node) {
        to_.nodes.push_back(std::move(node));
        return last_id<NodeId>(to_.nodes);
    }
    LocalId previous(LocalId id) { return previous_state(id); }
    LocalId local(LocalId id) {
        const Local& from = this->from_.local(id);
        if (from.is_state()) return read_state(id);
        LocalId& made = locals_[id];
        if (made != no_id) return made;
        Local copy = without_values(from);
        copy.value = this->value(from.value);
        if (made != no_id) return made;  // the values of a state that it reads hold the same local
        return made = add_local(std::move(copy));
    }
    using StateCopies::finish_states;

    Body& to_;
    InlineVector<VariableId, 16> variables_;

private:
    Derived& self() { return static_cast<Derived&>(*this); }
    Local without_values(const Local& from) {
        Local copy{from.name, from.dtype, {}};
        for (VariableId axis : from.variables) copy.variables.push_back(self().variable(axis));
        return copy;
    }
    LocalId add_local(Local local) {
        to_.locals.push_back(std::move(local));
        return last_id<LocalId>(to_.locals);
    }
    // What is known of nodes that are made now.
    void keep_notes() {
        std::erase_if(names_, [&](const NodeName* of) {
            const NodeId made = this->made_.find(of->node);
            if (made != no_id) to_.names.push_back({made, of->name});
            return made != no_id;
        });
        std::erase_if(places_, [&](const ReadPlace* of) {
            const NodeId made = this->made_.find(of->node);
            if (made != no_id) to_.places.push_back({made, of->place});
            return made != no_id;
        });
    }
    LocalId number_state(LocalId id) final { return locals_[id] = add_local(without_values(this->from_.local(id))); }
    void copy_values(LocalId id) final {
        const NodeId initial = this->value(this->from_.local(id).initial);
        const NodeId value = this->value(this->from_.local(id).value);
        Local& made = to_.locals[locals_[id]];
        made.initial = initial;
        made.value = value;
    }

    InlineVector<LocalId, 8> locals_;
    std::vector<const NodeName*> names_;  // that are not in `to` yet
    std::vector<const ReadPlace*> places_;
};

// The same body without the nodes and variables that no equation uses, in the order of first use, and with its tensors
// numbered by `tensors` (the old number of each new one). `nodes`, if given, gets the new number of each old node, or
// -1. Takes the nodes and variables out of `body`, and leaves it the memory that they stood in.
Body compacted(Body&& body, std::span<const int32_t> tensors, InlineVector<NodeId, 64>* nodes = nullptr);

// The nodes that a node is computed from: its operands, and the values of the local that it reads.
NodeList sources_of(const Body& body, NodeId id);
// For each node whether it is one of `roots` or one of their sources, or of theirs and so on.
InlineVector<bool, 64> used_by(const Body& body, NodeList roots);
// What equations compute and write with.
NodeList roots_of(const Body& body);
// Whether each tensor of 0 .. count is read by an equation, directly or through a local.
InlineVector<bool, 8> tensors_read(const Body& body, int32_t count);

}  // namespace heddle
