#include "sharding/body_copy.h"

namespace heddle::sharding {

NodeId plus(BodyNodes& nodes, NodeId id, int64_t by) {
    if (by == 0) return id;
    for (;;) {  // so that what was moved to and fro is as it was: verifiers know a scan's present step by its form
        const Node& node = nodes.node(id);
        if (node.kind != Node::Kind::scalar || node.op != ScalarOp::add || node.operands.size() != 2) break;
        const auto literal = nodes.literal_integer(node.operands[1]);
        if (!literal || nodes.node(node.operands[1]).integer.named()) break;
        by += *literal;
        id = node.operands[0];
    }
    return by == 0 ? id : nodes.scalar(ScalarOp::add, {id, nodes.integer(by, DType::int64, true)});
}

BodyCopy::BodyCopy(const Body& from, BodyNodes& to, Body& into)
    : BodyRebuild(from, into), nodes_(to), begins_(from.variables.size(), 0) {}

void BodyCopy::bind(VariableId variable, VariableId made, int64_t begin) {
    variables_[static_cast<size_t>(variable)] = made;
    begins_[static_cast<size_t>(variable)] = begin;
}

VariableId BodyCopy::bind_part(VariableId id, Variable::Kind kind, Range part) {
    const Variable& from = from_.variable(id);
    bool all = part.begin == 0 && part.end == from.extent.value();
    VariableId made = nodes_.add_variable(from.name, kind, all ? from.extent : Size(part.length()));
    bind(id, made, part.begin);
    return made;
}

VariableId BodyCopy::make_variable(VariableId id) {
    const Variable& from = from_.variable(id);
    auto part = parts_.find(id);
    return bind_part(id, from.kind, part != parts_.end() ? part->second : Range{0, from.extent.value()});
}

NodeId BodyCopy::value_of(VariableId id) {
    const NodeId made = nodes_.variable(variable(id));
    return plus(nodes_, made, begins_[static_cast<size_t>(id)]);
}

std::optional<NodeId> BodyCopy::replaced(NodeId id) {
    if (from_.node(id).kind == Node::Kind::variable) return value_of(from_.node(id).variable());
    auto stored = stored_.find(id);
    if (stored == stored_.end()) return std::nullopt;
    NodeList coordinates;
    for (VariableId axis : stored->second.variables) coordinates.push_back(value_of(axis));
    return nodes_.read(stored->second.input, from_.node(id).dtype, std::move(coordinates));
}

// Coordinates count from where the part begins.
NodeId BodyCopy::add(NodeId from, Node node) {
    auto move = [&](NodeId& coordinate, int64_t begin) { coordinate = plus(nodes_, coordinate, -begin); };
    const bool previous = node.kind == Node::Kind::previous;  // its coordinates are those behind the step
    if (node.kind == Node::Kind::local || previous) {
        const VariableList& axes = from_.local(from_.node(from).local()).variables;
        for (size_t d = 0; d < node.operands.size(); ++d)
            move(node.operands[d], begins_[static_cast<size_t>(axes[d + previous])]);
    } else if ((node.is_read()) && !inputs_.empty()) {
        const Corner& start = inputs_[from_.node(from).tensor()].start;
        for (size_t d = 0; d < start.size(); ++d) move(node.operands[d], start[d]);
    }
    return nodes_.add(node);
}

}  // namespace heddle::sharding
