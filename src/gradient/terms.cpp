#include "gradient/terms.h"

#include <algorithm>

#include <fmt/format.h>

#include "expr/scalar_interval.h"
#include "zspace/checked.h"

namespace heddle::gradient {
namespace {

// All nodes of a body, also those that nothing uses, in their order; variables keep their numbers.
class Import : public BodyRebuild<Import> {
public:
    Import(const Body& from, Body& to, BodyNodes& nodes) : BodyRebuild(from, to), nodes_(nodes) {}

    NodeTable run() {
        for (size_t id = 0; id < from_.nodes.size(); ++id) value(NodeId(id));
        finish_states();
        return made_;
    }

private:
    friend NodeRebuild<Import>;
    friend BodyRebuild<Import>;

    VariableId make_variable(VariableId id) { return id; }
    NodeId add(NodeId, const Node& node) { return nodes_.add(node); }

    BodyNodes& nodes_;
};

}  // namespace

Terms::Terms(const Body& forward, Body& body, std::vector<std::vector<int64_t>> shapes)
    : body_(body), nodes_(body), copied_(0), shapes_(std::move(shapes)) {
    body.variables = forward.variables;
    for (Variable& variable : body.variables)
        if (variable.kind == Variable::Kind::index) variable.kind = Variable::Kind::parallel;
    copied_ = Import(forward, body, nodes_).run();
    for (NodeId id(0); id < next_id<NodeId>(forward.nodes); ++id) {
        const Node& node = forward.node(id);
        if (node.kind == Node::Kind::local || node.kind == Node::Kind::previous)
            copied_locals_.emplace(node.local(), body.node(copied(id)).local());
    }
}

LocalId Terms::copied(LocalId forward) const { return copied_locals_.at(forward); }

const std::vector<VariableId>& Terms::free(NodeId id) {
    while (free_.size() <= static_cast<size_t>(id)) {
        const Node& node = body_.nodes[free_.size()];
        std::vector<VariableId> list;
        for (NodeId operand : node.operands) {
            const auto& of = free_[static_cast<size_t>(operand)];
            list.insert(list.end(), of.begin(), of.end());
        }
        if (node.kind == Node::Kind::variable) list.push_back(node.variable());
        if (node.kind == Node::Kind::previous) list.push_back(body_.local(node.local()).variables[0]);
        if (node.kind == Node::Kind::local && !body_.local(node.local()).is_state()) {
            const Local& local = body_.local(node.local());
            for (VariableId variable : free_[static_cast<size_t>(local.value)])
                if (std::ranges::find(local.variables, variable) == local.variables.end()) list.push_back(variable);
        }
        std::ranges::sort(list);
        list.erase(std::unique(list.begin(), list.end()), list.end());
        if (node.kind == Node::Kind::reduce)
            std::erase_if(list,
                          [&](VariableId v) { return std::ranges::find(node.variables, v) != node.variables.end(); });
        free_.push_back(std::move(list));
    }
    return free_[static_cast<size_t>(id)];
}

bool Terms::depends(NodeId id, VariableId variable) { return std::ranges::binary_search(free(id), variable); }

std::vector<VariableId> Terms::outer(LocalId id) {
    const Local& local = body_.local(id);
    if (local.is_state()) return {};
    std::vector<VariableId> list = free(local.value);
    std::erase_if(list, [&](VariableId v) { return std::ranges::find(local.variables, v) != local.variables.end(); });
    return list;
}

// What a substitution has made, of a body that is long while little of it changes.
struct Terms::Substituted : std::map<NodeId, NodeId> {
    NodeId find(NodeId id) const {
        auto known = map::find(id);
        return known == end() ? no_id : known->second;
    }
    NodeId set(NodeId id, NodeId made) { return (*this)[id] = made; }
};

// One substitution. Where a reduction or a local binds a variable anew, another scope begins.
class Terms::Scope : public NodeRebuild<Terms::Scope, Terms::Substituted> {
public:
    Scope(Terms& terms, Substitution by) : NodeRebuild(terms.body_, {}), terms_(terms), by_(std::move(by)) {}

private:
    friend NodeRebuild<Scope, Substituted>;

    std::optional<NodeId> replaced(NodeId id) {
        auto is_replaced = [&](VariableId v) { return by_.variables.contains(v); };
        if (std::ranges::none_of(terms_.free(id), is_replaced)) return id;
        if (auto whole = by_.nodes.find(id); whole != by_.nodes.end()) return whole->second;
        const Node node = terms_.node(id);  // nodes are made below
        if (node.kind == Node::Kind::variable) return by_.variables.at(node.variable());
        if (auto other = element_of(node); other != by_.states.end()) {
            const Element& element = other->second;
            NodeList at(element.first.begin(), element.first.end());
            for (size_t d = 1; d < node.operands.size(); ++d) at.push_back(value(node.operands[d]));
            return element.previous ? terms_.nodes_.previous(element.local, node.dtype, std::move(at))
                                    : terms_.nodes_.local(element.local, node.dtype, std::move(at));
        }
        if (auto step = step_of(node); step != by_.variables.end()) {
            // Behind a step that has a value stands an element of the state as an array.
            NodeList at = {step->second};
            for (NodeId operand : node.operands) at.push_back(value(operand));
            return terms_.nodes_.local(node.local(), node.dtype, std::move(at));
        }
        if (node.kind == Node::Kind::reduce && std::ranges::any_of(node.variables, is_replaced))
            return Scope(terms_, without(node.variables)).value(id);
        return std::nullopt;
    }
    NodeId add(NodeId, const Node& node) { return terms_.nodes_.add(node); }

    std::map<VariableId, NodeId>::const_iterator step_of(const Node& node) const {
        if (node.kind != Node::Kind::previous) return by_.variables.end();
        return by_.variables.find(terms_.body_.local(node.local()).variables[0]);
    }

    std::map<std::pair<LocalId, int64_t>, Element>::const_iterator element_of(const Node& node) const {
        const auto none = by_.states.end();
        if (node.kind != Node::Kind::local || node.operands.empty() || by_.states.empty()) return none;
        const auto place = terms_.place_of(node.operands[0]);
        return place && place->first == by_.step ? by_.states.find({node.local(), place->second}) : none;
    }

    Substitution without(std::span<const VariableId> bound) {
        Substitution rest = by_;
        for (VariableId variable : bound) {
            rest.variables.erase(variable);
            std::erase_if(rest.nodes, [&](const auto& pair) { return terms_.depends(pair.first, variable); });
        }
        return rest;
    }

    // A local whose value changes is another one; the same for the same values. What a variable gets may be outside of
    // its extent where a condition around the read does not hold, and there the copy is worked out too: it is zero.
    LocalId local(LocalId id) {
        std::vector<std::pair<VariableId, NodeId>> values;
        NodeList inside;
        for (VariableId variable : terms_.outer(id)) {
            auto by = by_.variables.find(variable);
            if (by == by_.variables.end()) continue;
            values.emplace_back(*by);
            const NodeList conditions = terms_.inside(by->second, terms_.body_.variable(variable).extent);
            inside.insert(inside.end(), conditions.begin(), conditions.end());
        }
        if (values.empty()) return id;
        auto [place, added] = terms_.copies_.try_emplace({id, std::move(values), by_.nodes, by_.states});
        if (!added) return place->second;
        Local copy = terms_.body_.local(id);
        copy.value = Scope(terms_, without(copy.variables)).value(copy.value);
        BodyNodes& nodes = terms_.nodes_;
        const NodeId zero = is_float(copy.dtype) ? nodes.real(0, copy.dtype, true) : nodes.integer(0, copy.dtype, true);
        for (NodeId condition : inside) copy.value = nodes.select(condition, copy.value, zero);
        place->second = next_id<LocalId>(terms_.body_.locals);
        terms_.body_.locals.push_back(std::move(copy));
        return place->second;
    }

    Terms& terms_;
    Substitution by_;
};

NodeId Terms::substitute(NodeId id, const Substitution& by) { return Scope(*this, by).value(id); }

std::optional<std::pair<VariableId, int64_t>> Terms::place_of(NodeId id) const {
    int64_t sum = 0;
    for (const Node* node = &body_.node(id);; node = &body_.node(node->operands[0])) {
        if (node->kind == Node::Kind::variable) return std::pair(node->variable(), sum);
        const bool moved =
            node->kind == Node::Kind::scalar && (node->op == ScalarOp::add || node->op == ScalarOp::subtract);
        const Node* by = moved ? &body_.node(node->operands[1]) : nullptr;
        if (!by || by->kind != Node::Kind::integer || by->integer == INT64_MIN) return std::nullopt;
        const auto next = checked_add(sum, node->op == ScalarOp::add ? by->integer : -by->integer);
        if (!next) return std::nullopt;
        sum = *next;
    }
}

Interval Terms::range(NodeId id) {
    if (auto known = ranges_.find(id); known != ranges_.end()) return known->second;
    return ranges_[id] = made_range(body_.node(id));
}

Interval Terms::made_range(const Node& node) {
    if (node.dtype != DType::int64) return {};
    if (node.kind == Node::Kind::integer) return Interval::point(node.integer);
    if (node.kind == Node::Kind::variable)
        return Interval::below(std::max<int64_t>(body_.variable(node.variable()).extent.value(), 1));
    if (node.kind != Node::Kind::scalar) return {};
    return interval_of(node.op, range(node.operands[0]), range(node.operands.back()));
}

NodeList Terms::inside(NodeId value, const Size& extent) {
    const Node& node = body_.node(value);
    if (node.kind == Node::Kind::variable && body_.variable(node.variable()).extent == extent) return {};
    const Interval values = range(value);
    NodeList conditions;
    if (values.low < 0) conditions.push_back(scalar(ScalarOp::greater_equal, {value, number(0)}));
    if (values.high >= extent.value() || extent.named())
        conditions.push_back(scalar(ScalarOp::less, {value, size(extent)}));
    return conditions;
}

bool Terms::safe(NodeId id) {
    if (auto known = safe_.find(id); known != safe_.end()) return known->second;
    return safe_[id] = made_safe(id);
}

bool Terms::made_safe(NodeId id) {
    const Node& node = body_.node(id);
    for (NodeId operand : node.operands)
        if (!safe(operand)) return false;
    if (node.kind == Node::Kind::previous) return false;
    if (node.kind != Node::Kind::read && node.kind != Node::Kind::local) return true;
    for (size_t d = 0; d < node.operands.size(); ++d) {
        const Local* local = node.kind == Node::Kind::local ? &body_.local(node.local()) : nullptr;
        if (local && local->is_state()) return false;
        int64_t extent = local ? body_.variable(local->variables[d]).extent.value() : shapes_[node.tensor()][d];
        if (!range(node.operands[d]).within(0, extent - 1)) return false;
        if (local && !safe(local->value)) return false;
    }
    return true;
}

bool Terms::plain(NodeId id) {
    if (auto known = plain_.find(id); known != plain_.end()) return known->second;
    return plain_[id] = made_plain(id);
}

bool Terms::made_plain(NodeId id) {
    const Node& node = body_.node(id);
    if (node.kind == Node::Kind::reduce || node.kind == Node::Kind::local) return false;
    return safe(id) && std::ranges::all_of(node.operands, [&](NodeId operand) { return plain(operand); });
}

bool Terms::worth_storing(NodeId id) const {
    constexpr int least = 4;  // operations
    if (body_.node(id).kind == Node::Kind::reduce) return true;
    if (!is_float(body_.node(id).dtype)) return false;
    int operations = 0;
    NodeList stack = {id};
    std::set<NodeId> seen;
    while (!stack.empty() && operations < least) {
        const NodeId at = stack.back();
        stack.pop_back();
        const Node& node = body_.node(at);
        if (!seen.insert(at).second || !is_float(node.dtype)) continue;
        if (node.kind == Node::Kind::reduce) return true;
        if (node.kind == Node::Kind::scalar) operations += info(node.op).cost;
        stack.insert(stack.end(), node.operands.begin(), node.operands.end());
    }
    return operations >= least;
}

LocalId Terms::stored(NodeId id, std::span<const VariableId> axes) {
    auto [place, added] = stored_.try_emplace({id, std::vector<VariableId>(axes.begin(), axes.end())});
    if (!added) return place->second;
    Local local{fmt::format("stored{}", stored_.size() - 1), body_.node(id).dtype, {}, no_id};
    Substitution own;
    for (VariableId axis : axes) {
        const Variable from = body_.variable(axis);
        local.variables.push_back(nodes_.add_variable(from.name, Variable::Kind::parallel, from.extent));
        own.variables[axis] = nodes_.variable(local.variables.back());
    }
    local.value = substitute(id, own);
    place->second = next_id<LocalId>(body_.locals);
    body_.locals.push_back(std::move(local));
    return place->second;
}

NodeId Terms::plus_multiple(NodeId sum, NodeId value, int64_t factor) {
    if (factor == 0) return sum;
    const bool negative = factor < 0 && factor != INT64_MIN;
    NodeId product = scalar(ScalarOp::multiply, {value, number(negative ? -factor : factor)});
    return scalar(negative ? ScalarOp::subtract : ScalarOp::add, {sum, product});
}

}  // namespace heddle::gradient
