#include "sharding/body_copy.h"

#include <algorithm>

namespace heddle::sharding {

NodeId plus(BodyNodes& nodes, NodeId id, int64_t by) {
    const Node& node = nodes.node(id);
    if (node.kind == Node::Kind::scalar && node.op == ScalarOp::add && node.operands.size() == 2) {
        auto literal = nodes.literal_integer(node.operands[1]);
        if (literal && !nodes.node(node.operands[1]).origin) {
            id = node.operands[0];
            by += *literal;
        }
    }
    return nodes.scalar(ScalarOp::add, {id, nodes.integer(by, DType::int64, true)});
}

BodyCopy::BodyCopy(const Body& from, BodyNodes& to, Body& into)
    : StateCopies(from),
      from_(from),
      to_(to),
      into_(into),
      nodes_(from.nodes.size(), -1),
      variables_(from.variables.size(), -1),
      begins_(from.variables.size(), 0),
      locals_(from.locals.size(), -1) {}

void BodyCopy::bind(VariableId variable, VariableId made, int64_t begin) {
    variables_[static_cast<size_t>(variable)] = made;
    begins_[static_cast<size_t>(variable)] = begin;
}

VariableId BodyCopy::bind_part(VariableId id, Variable::Kind kind, Range part) {
    const Variable& from = from_.variable(id);
    bool all = part.begin == 0 && part.end == from.extent.value;
    VariableId made = to_.add_variable(from.name, kind, all ? from.extent : Size(part.length()));
    bind(id, made, part.begin);
    return made;
}

VariableId BodyCopy::variable(VariableId id) {
    if (VariableId made = variables_[static_cast<size_t>(id)]; made >= 0) return made;
    const Variable& from = from_.variable(id);
    auto part = parts_.find(id);
    return bind_part(id, from.kind, part != parts_.end() ? part->second : Range{0, from.extent.value});
}

NodeId BodyCopy::value_of(VariableId id) {
    NodeId made = to_.variable(variable(id));
    int64_t begin = begins_[static_cast<size_t>(id)];
    return begin == 0 ? made : plus(to_, made, begin);
}

int32_t BodyCopy::local(int32_t id) {
    const Local& from = from_.locals[static_cast<size_t>(id)];
    if (from.is_state()) return read_state(id);
    int32_t& made = locals_[static_cast<size_t>(id)];
    if (made >= 0) return made;
    Local copied{from.name, from.dtype, {}, 0};
    for (VariableId axis : from.variables) copied.variables.push_back(variable(axis));
    copied.value = value(from.value);
    if (made >= 0) return made;  // the values of a state that it reads hold the same local
    into_.locals.push_back(std::move(copied));
    return made = static_cast<int32_t>(into_.locals.size() - 1);
}

int32_t BodyCopy::number_state(int32_t id) {
    const Local& from = from_.locals[static_cast<size_t>(id)];
    Local copied{from.name, from.dtype, {}, 0};
    for (VariableId axis : from.variables) copied.variables.push_back(variable(axis));
    into_.locals.push_back(std::move(copied));
    return locals_[static_cast<size_t>(id)] = static_cast<int32_t>(into_.locals.size() - 1);
}

void BodyCopy::copy_values(int32_t id) {
    const Local& from = from_.locals[static_cast<size_t>(id)];
    NodeId initial = value(from.initial), next = value(from.value);
    Local& made = into_.locals[static_cast<size_t>(locals_[static_cast<size_t>(id)])];
    made.initial = initial;
    made.value = next;
}

NodeId BodyCopy::read(const Node& node) {
    size_t guard = node.kind == Node::Kind::guarded_read ? 1 : 0;
    NodeList coordinates;
    for (size_t i = 0; i + guard < node.operands.size(); ++i) coordinates.push_back(value(node.operands[i]));
    int32_t input = node.index;
    if (!inputs_.empty()) {
        const InputRegion& region = inputs_[static_cast<size_t>(node.index)];
        input = region.input;
        for (size_t i = 0; i < coordinates.size(); ++i)
            if (region.start[i] != 0) coordinates[i] = plus(to_, coordinates[i], -region.start[i]);
    }
    if (guard == 0) return to_.read(input, node.dtype, std::move(coordinates));
    return to_.guarded_read(input, node.dtype, std::move(coordinates), value(node.operands.back()));
}

NodeId BodyCopy::read_local(const Node& node) {
    bool before = node.kind == Node::Kind::previous;  // its coordinates are those behind the step
    int32_t own = before ? previous_state(node.index) : local(node.index);
    const auto& axes = from_.locals[static_cast<size_t>(node.index)].variables;
    NodeList coordinates;
    for (size_t i = 0; i < node.operands.size(); ++i) {
        int64_t begin = begins_[static_cast<size_t>(axes[i + (before ? 1 : 0)])];
        NodeId coordinate = value(node.operands[i]);
        coordinates.push_back(begin == 0 ? coordinate : plus(to_, coordinate, -begin));
    }
    return before ? to_.previous(own, node.dtype, std::move(coordinates))
                  : to_.local(own, node.dtype, std::move(coordinates));
}

NodeId BodyCopy::copy(NodeId id) {
    NodeId made = value(id);
    finish_states();
    return made;
}

NodeId BodyCopy::value(NodeId id) {
    if (NodeId known = nodes_[static_cast<size_t>(id)]; known >= 0) return known;
    const Node& node = from_.node(id);
    if (auto stored = stored_.find(id); stored != stored_.end()) {
        NodeList coordinates;
        for (VariableId axis : stored->second.variables) coordinates.push_back(value_of(axis));
        NodeId made = to_.read(stored->second.input, node.dtype, std::move(coordinates));
        return nodes_[static_cast<size_t>(id)] = made;
    }
    auto operand = [&](size_t i) { return value(node.operands[i]); };
    auto operands = [&] {
        NodeList list;
        for (NodeId from : node.operands) list.push_back(value(from));
        return list;
    };
    NodeId made = -1;
    switch (node.kind) {
    case Node::Kind::integer:
        made = to_.sized_integer({node.integer, node.origin}, node.dtype, node.from_template);
        break;
    case Node::Kind::real: made = to_.real(node.real, node.dtype, node.from_template); break;
    case Node::Kind::variable: made = value_of(node.index); break;
    case Node::Kind::scalar: made = to_.scalar(node.op, operands()); break;
    case Node::Kind::cast: made = to_.cast(operand(0), node.dtype); break;
    case Node::Kind::select: {
        NodeId condition = operand(0), then = operand(1);
        made = to_.select(condition, then, operand(2));
        break;
    }
    case Node::Kind::read:
    case Node::Kind::guarded_read: made = read(node); break;
    case Node::Kind::local:
    case Node::Kind::previous: made = read_local(node); break;
    case Node::Kind::reduce: {
        VariableList own;
        for (VariableId bound : node.variables) own.push_back(variable(bound));
        NodeId term = operand(0);
        NodeId filter = node.operands.size() > 1 ? operand(1) : -1;
        made = to_.reduce(node.reducer, node.dtype, std::move(own), term, filter);
        break;
    }
    }
    return nodes_[static_cast<size_t>(id)] = made;
}

}  // namespace heddle::sharding
