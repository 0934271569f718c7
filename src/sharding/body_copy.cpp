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
    : from_(from),
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
    int32_t& made = locals_[static_cast<size_t>(id)];
    if (made >= 0) return made;
    const Local& from = from_.locals[static_cast<size_t>(id)];
    Local copied{from.name, from.dtype, {}, 0};
    for (VariableId axis : from.variables) copied.variables.push_back(variable(axis));
    copied.value = copy(from.value);
    into_.locals.push_back(std::move(copied));
    return made = static_cast<int32_t>(into_.locals.size() - 1);
}

NodeId BodyCopy::read(const Node& node) {
    size_t guard = node.kind == Node::Kind::guarded_read ? 1 : 0;
    std::vector<NodeId> coordinates;
    for (size_t i = 0; i + guard < node.operands.size(); ++i) coordinates.push_back(copy(node.operands[i]));
    int32_t input = node.index;
    if (!inputs_.empty()) {
        const InputRegion& region = inputs_[static_cast<size_t>(node.index)];
        input = region.input;
        for (size_t i = 0; i < coordinates.size(); ++i)
            if (region.start[i] != 0) coordinates[i] = plus(to_, coordinates[i], -region.start[i]);
    }
    if (guard == 0) return to_.read(input, node.dtype, std::move(coordinates));
    return to_.guarded_read(input, node.dtype, std::move(coordinates), copy(node.operands.back()));
}

NodeId BodyCopy::copy(NodeId id) {
    if (NodeId known = nodes_[static_cast<size_t>(id)]; known >= 0) return known;
    const Node& node = from_.node(id);
    if (auto stored = stored_.find(id); stored != stored_.end()) {
        std::vector<NodeId> coordinates;
        for (VariableId axis : stored->second.variables) coordinates.push_back(value_of(axis));
        NodeId made = to_.read(stored->second.input, node.dtype, std::move(coordinates));
        return nodes_[static_cast<size_t>(id)] = made;
    }
    auto operand = [&](size_t i) { return copy(node.operands[i]); };
    auto operands = [&] {
        std::vector<NodeId> list;
        for (NodeId from : node.operands) list.push_back(copy(from));
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
    case Node::Kind::previous: break;  // bodies with ordered axes are refused before
    case Node::Kind::local: {
        int32_t own = local(node.index);
        std::vector<NodeId> coordinates = operands();
        const auto& axes = from_.locals[static_cast<size_t>(node.index)].variables;
        for (size_t i = 0; i < axes.size(); ++i)
            if (int64_t begin = begins_[static_cast<size_t>(axes[i])]; begin != 0)
                coordinates[i] = plus(to_, coordinates[i], -begin);
        made = to_.local(own, node.dtype, std::move(coordinates));
        break;
    }
    case Node::Kind::reduce: {
        std::vector<VariableId> own;
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
