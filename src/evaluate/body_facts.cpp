#include "evaluate/body_facts.h"

#include <algorithm>
#include <map>

#include "zspace/checked.h"

namespace heddle::evaluation {

BodyFacts::BodyFacts(const Body& body, const std::vector<TensorData>& inputs)
    : body(body), inputs(inputs), free(body), forms(affine_forms(body)), poisoned(body.nodes.size()) {
    // A state's value may stand behind what reads it: again, until nothing changes.
    while (spread_poison()) {
    }
    find_steps();
    taken_into.assign(body.nodes.size(), -1);
    for (size_t i = 0; i < body.locals.size(); i++) {
        const Local& local = body.locals[i];
        if (!local.is_state() || !is_float(local.dtype)) continue;
        for (ScalarOp op : {ScalarOp::add, ScalarOp::multiply}) takes_into(local.value, LocalId(i), op);
    }
}

// Whether the value is the state after sums or products alone.
bool BodyFacts::takes_into(NodeId id, LocalId state, ScalarOp op) {
    const Node& node = body.node(id);
    if (node.kind == Node::Kind::previous) return node.local() == state;
    if (node.kind == Node::Kind::local && !body.local(node.local()).is_state())
        return takes_into(body.local(node.local()).value, state, op);
    if (node.kind == Node::Kind::select) {
        const bool then = takes_into(node.operands[1], state, op), otherwise = takes_into(node.operands[2], state, op);
        return then || otherwise;
    }
    // A decaying sum is a sum, too.
    if (node.kind == Node::Kind::scalar && node.op == ScalarOp::multiply && op == ScalarOp::add) {
        const auto is_number = [&](size_t i) { return body.node(node.operands[i]).kind == Node::Kind::real; };
        return (is_number(0) && takes_into(node.operands[1], state, op)) ||
               (is_number(1) && takes_into(node.operands[0], state, op));
    }
    const bool joins = node.op == op || (op == ScalarOp::add && node.op == ScalarOp::subtract);
    if (node.kind != Node::Kind::scalar || !joins) return false;
    for (int8_t operand : {0, 1}) {
        if (!takes_into(node.operands[static_cast<size_t>(operand)], state, op)) continue;
        taken_into[static_cast<size_t>(id)] = operand;
        return true;
    }
    return false;
}

int64_t BodyFacts::points(std::span<const VariableId> variables) const {
    int64_t points = 1;
    for (VariableId id : variables) points = checked_multiply(points, extent(id)).value_or(INT64_MAX);
    return points;
}

std::vector<int64_t> BodyFacts::source_extents(const Node& node) const {
    const bool before = node.kind == Node::Kind::previous;
    if (node.kind != Node::Kind::local && !before) return inputs[node.tensor()].shape();
    const Local& local = body.local(node.local());
    std::vector<int64_t> extents;
    for (size_t d = before ? 1 : 0; d < local.variables.size(); d++) extents.push_back(body.extent(local, d));
    return extents;
}

bool BodyFacts::proven(NodeId coordinate, int64_t extent) const {
    const auto& form = forms[static_cast<size_t>(coordinate)];
    if (!form) return false;
    return interval_of(*form, body).within(0, extent - 1);
}

bool BodyFacts::spread_poison() {
    bool changed = false;
    for (size_t i = 0; i < body.nodes.size(); i++) {
        const Node& node = body.nodes[i];
        bool result =
            std::ranges::any_of(node.operands, [&](NodeId id) { return bool(poisoned[static_cast<size_t>(id)]); });
        const bool local = node.kind == Node::Kind::local || node.kind == Node::Kind::previous;
        if (local) {
            const Local& from = body.local(node.local());
            result = result || poisoned[static_cast<size_t>(from.value)] ||
                     (from.is_state() && poisoned[static_cast<size_t>(from.initial)]);
        }
        if (node.kind == Node::Kind::read || local) {
            auto extents = source_extents(node);
            for (size_t d = 0; d < extents.size(); d++) result = result || !proven(node.operands[d], extents[d]);
        }
        changed = changed || poisoned[i] != result;
        poisoned[i] = result;
    }
    return changed;
}

void BodyFacts::find_steps() {
    std::map<VariableId, NodeId> last;  // value of each scan's states
    for (const Local& local : body.locals) {
        if (!local.is_state()) continue;
        NodeId& value = last.try_emplace(local.variables[0], no_id).first->second;
        value = std::max({value, local.value, local.initial});
    }
    after.assign(body.nodes.size(), no_id);
    stepped.assign(body.nodes.size(), false);
    if (last.empty()) return;
    auto local_of = [&](const Node& node) -> const Local& { return body.local(node.local()); };
    for (size_t i = 0; i < body.nodes.size(); i++) {
        const Node& node = body.nodes[i];
        for (NodeId operand : node.operands) after[i] = std::max(after[i], after[static_cast<size_t>(operand)]);
        const bool local = node.kind == Node::Kind::local || node.kind == Node::Kind::previous;
        if (!local) continue;
        const Local& from = local_of(node);
        after[i] =
            std::max(after[i], from.is_state() ? last.at(from.variables[0]) : after[static_cast<size_t>(from.value)]);
    }
    // Users before operands, from the states' values; a local's value stands before its readers.
    for (const Local& local : body.locals) {
        if (local.is_state()) stepped[static_cast<size_t>(local.value)] = true;
    }
    for (size_t i = body.nodes.size(); i-- > 0;) {
        if (!stepped[i]) continue;
        const Node& node = body.nodes[i];
        for (NodeId operand : node.operands) stepped[static_cast<size_t>(operand)] = true;
        if (node.kind == Node::Kind::local && !local_of(node).is_state())
            stepped[static_cast<size_t>(local_of(node).value)] = true;
    }
    for (size_t i = 0; i < body.nodes.size(); i++) stepped[i] = stepped[i] && after[i] >= NodeId(i);
    for (const Local& local : body.locals) {
        if (local.is_state()) stepped[static_cast<size_t>(local.value)] = true;
    }
}

}  // namespace heddle::evaluation
