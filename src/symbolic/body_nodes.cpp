#include "symbolic/body_nodes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "support/tensor_data.h"
#include "zspace/checked.h"
#include "zspace/size_facts.h"

namespace heddle {
namespace {

Node made(Node::Kind kind, DType dtype) {
    Node node;
    node.kind = kind;
    node.dtype = dtype;
    return node;
}

// Whether an integer type has the number; so it has all others that keep the facts of this.
bool fits(const Size& value, DType dtype) {
    if (dtype == DType::int64) return true;
    const DTypeInfo& type = info(dtype);
    const bool is_signed = type.kind == DTypeClass::signed_integer;
    const int64_t most = type.bits == 64 ? INT64_MAX : (int64_t{1} << (type.bits - is_signed)) - 1;
    return value >= (is_signed ? -most - 1 : 0) && value <= most;
}

}  // namespace

BodyNodes::BodyNodes(Body& body) : body_(&body) {
    constexpr size_t usual = 32;
    body.nodes.reserve(usual);
    body.variables.reserve(usual / 4);
}

bool BodyNodes::is_plain(NodeId coordinate) const {
    const Node& of = node(coordinate);
    if (of.kind != Node::Kind::scalar) return of.kind == Node::Kind::variable || of.kind == Node::Kind::integer;
    const bool sum = of.op == ScalarOp::add || of.op == ScalarOp::subtract || of.op == ScalarOp::multiply;
    return sum && std::ranges::all_of(of.operands, [&](NodeId id) { return is_plain(id); });
}

NodeId BodyNodes::intern(Node node) {
    const auto [number, added] =
        table_.intern(hash_of(node), [&](int32_t other) { return same(body_->node(NodeId(other)), node); });
    const NodeId id(number);
    if (!added) return id;
    bool open = node.kind == Node::Kind::read || node.kind == Node::Kind::local || node.kind == Node::Kind::previous;
    int32_t depth = 0;
    for (NodeId operand : node.operands) {
        open = open || has_open_read(operand);
        depth = std::max(depth, this->depth(operand));
    }
    if (node.kind == Node::Kind::local) depth = std::max(depth, this->depth(body_->local(node.local()).value));
    known_.push_back({depth + 1, open});
    body_->nodes.push_back(std::move(node));
    return id;
}

NodeId BodyNodes::integer(int64_t value, DType dtype, bool from_template) {
    if (is_complex(dtype)) return real(static_cast<double>(value), dtype, from_template);
    if (is_float(dtype)) return real(static_cast<double>(value), dtype, from_template);
    Node node = made(Node::Kind::integer, dtype);
    node.integer = value;
    if (dtype != DType::int64) {
        // Wraps to the element type as a cast does.
        TensorData element(dtype, {1});
        element.set_integer(0, value);
        node.integer = element.integer_at(0);
    }
    node.from_template = from_template || is_bool(dtype);
    return intern(std::move(node));
}

NodeId BodyNodes::sized_integer(const Size& value, DType dtype, bool from_template) {
    if (!value.named()) return integer(value.value(), dtype, from_template);
    if (!is_integer(dtype) || !fits(value, dtype)) {
        // Another number another time.
        if (RecordingFacts::is_on() && dtype != DType::int64 && !is_bool(dtype))
            return cast_of(sized_integer(value, DType::int64, from_template), dtype);
        return integer(value.value(), dtype, from_template);
    }
    Node literal = made(Node::Kind::integer, dtype);
    literal.integer = value;
    literal.from_template = from_template;
    return intern(std::move(literal));
}

NodeId BodyNodes::cast_of(NodeId operand, DType dtype) {
    if (is_complex(dtype) && !is_complex(node(operand).dtype)) operand = cast_of(operand, real_type(dtype));
    Node node = made(Node::Kind::cast, dtype);
    node.operands = {operand};
    return intern(std::move(node));
}

NodeId BodyNodes::real(double value, DType dtype, bool from_template) {
    if (is_complex(dtype)) return cast(real(value, real_type(dtype), from_template), dtype);
    if (!is_float(dtype)) {
        TensorData element(dtype, {1});
        element.set_real(0, value);
        return integer(element.integer_at(0), dtype, from_template);
    }
    Node node = made(Node::Kind::real, dtype);
    node.real = value;
    node.from_template = from_template;
    return intern(std::move(node));
}

NodeId BodyNodes::sized_real(const SizeQuotient& value, DType dtype, bool from_template) {
    if (!value.named() || !RecordingFacts::is_on()) return real(value.value(), dtype, from_template);
    const auto part = [&](const Size& size) {
        return size.named() ? cast_of(sized_integer(size, DType::int64, from_template), dtype)
                            : real(static_cast<double>(size.number()), dtype, from_template);
    };
    return value.below.same_as(1) ? part(value.above) : scalar(ScalarOp::divide, {part(value.above), part(value.below)});
}

VariableId BodyNodes::add_variable(std::string name, Variable::Kind kind, Size extent) {
    body_->variables.push_back({std::move(name), kind, std::move(extent)});
    return last_id<VariableId>(body_->variables);
}

LocalId BodyNodes::add_local(Local local) {
    body_->locals.push_back(std::move(local));
    return last_id<LocalId>(body_->locals);
}

NodeId BodyNodes::variable(VariableId id) {
    Node node = made(Node::Kind::variable, DType::int64);
    node.index = id;
    return intern(std::move(node));
}

std::optional<Size> BodyNodes::literal_size(NodeId id) const {
    const Node& literal = node(id);
    if (literal.kind != Node::Kind::integer || literal.dtype != DType::int64) return std::nullopt;
    return literal.integer;
}

std::optional<int64_t> BodyNodes::literal_integer(NodeId id) const {
    const auto size = literal_size(id);
    return size ? std::optional(size->value()) : std::nullopt;
}

std::optional<bool> BodyNodes::literal_boolean(NodeId id) const {
    const Node& literal = node(id);
    if (literal.kind != Node::Kind::integer || literal.dtype != DType::boolean) return std::nullopt;
    return literal.integer != 0;
}

namespace {

// The value of an operation on two coordinates, if it is one of those worth folding and does not overflow.
std::optional<Size> size_of(ScalarOp op, const Size& a, const Size& b) {
    switch (op) {
    case ScalarOp::add: return checked_add(a, b);
    case ScalarOp::subtract: return checked_subtract(a, b);
    case ScalarOp::multiply: return checked_multiply(a, b);
    case ScalarOp::floor_divide: return b != 0 ? checked_floor_divide(a, b) : std::nullopt;
    case ScalarOp::modulo: return b != 0 ? checked_floor_modulo(a, b) : std::nullopt;
    case ScalarOp::minimum: return minimum(a, b);
    case ScalarOp::maximum: return maximum(a, b);
    default: return std::nullopt;
    }
}

std::optional<bool> comparison_of(ScalarOp op, const Size& a, const Size& b) {
    switch (op) {
    case ScalarOp::equal: return a == b;
    case ScalarOp::not_equal: return a != b;
    case ScalarOp::less: return a < b;
    case ScalarOp::less_equal: return a <= b;
    case ScalarOp::greater: return a > b;
    case ScalarOp::greater_equal: return a >= b;
    default: return std::nullopt;
    }
}

}  // namespace

std::optional<NodeId> BodyNodes::folded(ScalarOp op, std::span<const NodeId> operands) {
    if (op == ScalarOp::logical_not) {
        if (auto value = literal_boolean(operands[0])) return boolean(!*value);
        return std::nullopt;
    }
    if (op == ScalarOp::logical_and || op == ScalarOp::logical_or) {
        bool neutral = op == ScalarOp::logical_and;
        for (size_t side = 0; side < 2; ++side)
            if (auto value = literal_boolean(operands[side]))
                return *value == neutral ? operands[1 - side] : operands[side];
        return std::nullopt;
    }
    if (operands.size() != 2 || node(operands[0]).dtype != DType::int64) return std::nullopt;
    const auto a = literal_size(operands[0]), b = literal_size(operands[1]);
    if (a && b) {
        const bool from_template = node(operands[0]).from_template && node(operands[1]).from_template;
        if (const auto value = size_of(op, *a, *b)) return sized_integer(*value, DType::int64, from_template);
        if (const auto value = comparison_of(op, *a, *b)) return boolean(*value);
        return std::nullopt;
    }
    // A named extent that is 0 or 1 now may be another number next time.
    const auto is = [](const std::optional<Size>& size, int64_t number) { return size && size->same_as(number); };
    if ((op == ScalarOp::add || op == ScalarOp::subtract) && is(b, 0)) return operands[0];
    if (op == ScalarOp::add && is(a, 0)) return operands[1];
    if ((op == ScalarOp::multiply || op == ScalarOp::floor_divide) && is(b, 1)) return operands[0];
    if (op == ScalarOp::multiply && is(a, 1)) return operands[1];
    if (op == ScalarOp::multiply && (is(a, 0) || is(b, 0))) return integer(0, DType::int64, true);
    if (op == ScalarOp::modulo && is(b, 1)) return integer(0, DType::int64, true);
    return std::nullopt;
}

NodeId BodyNodes::scalar(ScalarOp op, NodeList operands) {
    if (auto simpler = folded(op, operands)) return *simpler;
    Node made_node = made(Node::Kind::scalar, result_type(op, node(operands[0]).dtype));
    made_node.op = op;
    made_node.operands = std::move(operands);
    return intern(std::move(made_node));
}

NodeId BodyNodes::cast(NodeId operand, DType dtype) {
    if (is_complex(dtype) && !is_complex(node(operand).dtype)) operand = cast(operand, real_type(dtype));
    const Node& from = node(operand);
    if (from.dtype == dtype) return operand;
    // What was widened and is stored as the same type again has lost nothing.
    if (from.kind == Node::Kind::cast && node(from.operands[0]).dtype == dtype && is_narrow(dtype) &&
        from.dtype == info(dtype).arithmetic)
        return from.operands[0];
    if (from.kind == Node::Kind::integer) {
        if (is_bool(dtype)) return boolean(from.integer != 0);
        constexpr int64_t largest_exact = 16'777'216;  // that a float32 counts to
        bool exact = !is_float(dtype) || (from.integer <= largest_exact && from.integer >= -largest_exact);
        if (exact && !(is_narrow(dtype) && is_float(dtype)))
            return sized_integer(from.integer, dtype, from.from_template);
    }
    if (from.kind == Node::Kind::real && from.dtype == DType::float64 && dtype == DType::float32 &&
        static_cast<double>(static_cast<float>(from.real)) == from.real)
        return real(from.real, dtype, from.from_template);
    return cast_of(operand, dtype);
}

NodeId BodyNodes::select(NodeId condition, NodeId then, NodeId otherwise) {
    if (auto value = literal_boolean(condition)) return *value ? then : otherwise;
    if (then == otherwise) return then;
    Node made_node = made(Node::Kind::select, node(then).dtype);
    made_node.operands = {condition, then, otherwise};
    return intern(std::move(made_node));
}

NodeId BodyNodes::read(TensorIndex tensor, DType dtype, NodeList coordinates) {
    Node node = made(Node::Kind::read, dtype);
    node.index = tensor;
    node.operands = std::move(coordinates);
    return intern(std::move(node));
}

NodeId BodyNodes::guarded_read(TensorIndex tensor, DType dtype, NodeList coordinates, NodeId otherwise) {
    Node node = made(Node::Kind::guarded_read, dtype);
    node.index = tensor;
    node.operands = std::move(coordinates);
    node.operands.push_back(otherwise);
    return intern(std::move(node));
}

NodeId BodyNodes::local(LocalId local, DType dtype, NodeList coordinates) {
    Node node = made(Node::Kind::local, dtype);
    node.index = local;
    node.operands = std::move(coordinates);
    return intern(std::move(node));
}

NodeId BodyNodes::previous(LocalId state, DType dtype, NodeList coordinates) {
    Node node = made(Node::Kind::previous, dtype);
    node.index = state;
    node.operands = std::move(coordinates);
    return intern(std::move(node));
}

bool BodyNodes::same_up_to_variables(NodeId a, NodeId b, std::unordered_map<VariableId, VariableId>& renamed,
                                     std::unordered_map<NodeId, NodeId>& equal) const {
    if (auto known = equal.find(a); known != equal.end() && known->second == b) return true;
    const Node &left = node(a), &right = node(b);
    if (left.kind == Node::Kind::variable && right.kind == Node::Kind::variable) {
        auto other = renamed.find(left.variable());
        return (other == renamed.end() ? left.variable() : other->second) == right.variable();
    }
    if (!same_head(left, right)) return false;
    for (size_t i = 0; i < left.variables.size(); ++i) {
        if (!body_->variable(left.variables[i]).extent.same_as(body_->variable(right.variables[i]).extent)) return false;
        renamed[left.variables[i]] = right.variables[i];
    }
    for (size_t i = 0; i < left.operands.size(); ++i)
        if (!same_up_to_variables(left.operands[i], right.operands[i], renamed, equal)) return false;
    equal[a] = b;
    return true;
}

NodeId BodyNodes::reduce(Reducer reducer, DType dtype, VariableList variables, NodeId operand, NodeId filter) {
    Node node = made(Node::Kind::reduce, dtype);
    node.reducer = reducer;
    node.variables = std::move(variables);
    node.operands = {operand};
    if (filter != no_id) node.operands.push_back(filter);
    size_t before = body_->nodes.size();
    NodeId id = intern(std::move(node));
    if (body_->nodes.size() == before) return id;
    for (NodeId earlier : reductions_) {
        std::unordered_map<VariableId, VariableId> renamed;
        std::unordered_map<NodeId, NodeId> equal;
        if (same_up_to_variables(id, earlier, renamed, equal)) return earlier;
    }
    reductions_.push_back(id);
    return id;
}

NodeId BodyNodes::add(const Node& node) {
    switch (node.kind) {
    case Node::Kind::integer: return sized_integer(node.integer, node.dtype, node.from_template);
    case Node::Kind::real: return real(node.real, node.dtype, node.from_template);
    case Node::Kind::variable: return variable(node.variable());
    case Node::Kind::scalar: return scalar(node.op, node.operands);
    case Node::Kind::cast: return cast(node.operands[0], node.dtype);
    case Node::Kind::select: return select(node.operands[0], node.operands[1], node.operands[2]);
    case Node::Kind::reduce:
        return reduce(node.reducer, node.dtype, node.variables, node.operands[0],
                      node.operands.size() > 1 ? node.operands[1] : no_id);
    default: return intern(node);  // reads
    }
}

}  // namespace heddle
