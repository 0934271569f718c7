// How a body reads its inputs and its local arrays.
#include <fmt/format.h>

#include "support/tensor_data.h"
#include "symbolic/body_expression.h"

namespace heddle {

void BodyExpressions::refuse_rank(std::string_view name, size_t expected, size_t given, const Place& place) {
    Diagnostic diagnostic = elements_.error(
        "symbolic.rank", place, fmt::format("'{}' is read with {} coordinate{}", name, given, given == 1 ? "" : "s"));
    diagnostic.expected = fmt::format("{} coordinate{}", expected, expected == 1 ? "" : "s");
    diagnostic.found = std::to_string(given);
    diagnostic.remedy =
        given < expected ? "give every dimension a coordinate; reduce over one that the index lacks: sum(k < $n : ...)"
                         : "remove the surplus coordinates, or give the pattern as many dimensions";
    diagnostic.params.emplace_back("tensor", name);
    elements_.refuse(std::move(diagnostic));
}

// The coordinates of `tensor` itself. Under ~ the joint coordinates were given: missing dimensions are dropped, those
// of size one are read at 0.
NodeList BodyExpressions::tensor_coordinates(const BodyTensor& tensor, const std::vector<Value>& given,
                                             const Place& place) {
    const BoundTensor& bound = *tensor.bound;
    bool by_pattern = tensor.spec->shape != nullptr;
    size_t expected = by_pattern ? bound.coordinates.size() : bound.type.shape.size();
    if (given.size() != expected) refuse_rank(bound.name, expected, given.size(), place);
    NodeList result(bound.type.shape.size());
    for (size_t i = 0; i < expected; ++i) {
        NodeId own_coordinate = coordinate(given[i], place);
        if (!by_pattern) {
            result[i] = own_coordinate;
            continue;
        }
        const PatternCoordinate& own = bound.coordinates[i];
        if (own.dimension < 0) continue;
        result[static_cast<size_t>(own.dimension)] = own.zero ? nodes_.integer(0, DType::int64, true) : own_coordinate;
    }
    return result;
}

Value BodyExpressions::read(TensorIndex tensor, const std::vector<Value>& coordinates, const Place& place) {
    const BodyTensor& from = tensors_[static_cast<size_t>(tensor)];
    NodeList own = tensor_coordinates(from, coordinates, place);
    NodeId node = nodes_.read(tensor, from.bound->type.dtype, std::move(own));
    elements_.note_read(node, place);
    return Value::of(elements_.widened(node));
}

// `value` as the type that is only stored that it came from or that holds it exactly.
std::optional<NodeId> BodyExpressions::as_stored(Element value, DType dtype) {
    const Node& node = nodes_.node(value.node);
    if (node.kind == Node::Kind::cast && nodes_.node(node.operands[0]).dtype == dtype) return node.operands[0];
    if (node.kind == Node::Kind::integer && wrapped_to(dtype, node.integer.value()) == node.integer.value())
        return nodes_.sized_integer(node.integer, dtype, node.from_template);
    if (node.kind != Node::Kind::real) return std::nullopt;
    TensorData element(dtype, {1});
    element.set_real(0, node.real);
    bool exact = element.real_at(0) == node.real || node.real != node.real;
    return exact ? std::optional(nodes_.real(node.real, dtype, node.from_template)) : std::nullopt;
}

// access ?? otherwise: of a tensor, a local array or a state.
Value BodyExpressions::guard(const Syntax& syntax, const Scope& scope) {
    const Syntax& access = *syntax.children[0];
    Value base;
    if (access.kind == Syntax::Kind::subscript) base = reference(*access.children[0], scope);
    if (base.is_failed()) throw EvaluationFailure{};
    if (!base.is_array() || base.is_array(BodyArray::Kind::tensors)) {
        Diagnostic diagnostic =
            elements_.error("symbolic.guard", syntax.place, "?? stands behind something that is not an access");
        diagnostic.expected = "an access with coordinates, as in x[@n - 1] ?? 0";
        diagnostic.reason = "a guard binds to its access alone";
        diagnostic.remedy = "write ?? behind each access";
        elements_.refuse(std::move(diagnostic));
    }
    std::span<const SyntaxPointer> children(access.children.begin() + 1, access.children.end());
    std::vector<Value> coordinates = expanded(children, std::nullopt, scope);
    Value otherwise = evaluate(*syntax.children[1], scope);
    const int32_t index = base.array().index;
    if (base.is_array(BodyArray::Kind::tensor))
        return guarded(TensorIndex(index), coordinates, otherwise, syntax.place);
    std::vector<Size> extents;
    auto add_extents = [&](const VariableList& variables) {
        for (VariableId id : variables) extents.push_back(body_.variable(id).extent);
    };
    if (base.is_array(BodyArray::Kind::local)) {
        add_extents(body_.local(LocalId(index)).variables);
        Value inside = read_local(LocalId(index), coordinates, syntax.place);
        return chosen_inside(coordinates, extents, inside, otherwise, syntax.place);
    }
    if (base.is_array(BodyArray::Kind::steps)) return guarded_step(index, coordinates, otherwise, syntax.place);
    const BodyState from = state(StateId(index));
    if (from.front) return guarded_cell(StateId(index), coordinates, otherwise, syntax.place);
    add_extents(from.own);
    std::vector<Value> own(coordinates.begin() + 1, coordinates.end());
    const int64_t back =
        from.active && !coordinates.empty() ? steps_back(coordinate(coordinates[0], syntax.place), from.step) : 0;
    if (back > 1) {
        Value inside = read_earlier(StateId(index), back, coordinates, otherwise, syntax.place);
        return chosen_inside(own, extents, inside, otherwise, syntax.place);
    }
    Value inside = read_state(from, coordinates, syntax.place);
    // The steps of a scan are those that there are; behind it any may be asked for, the initial value being one.
    if (!from.active) {
        Value one = Value::of(1);
        own.insert(own.begin(), operations().binary(ScalarOp::add, coordinates[0], one, syntax.place));
        extents.insert(extents.begin(), body_.variable(from.step).extent + 1);
    }
    return chosen_inside(own, extents, inside, otherwise, syntax.place);
}

Value BodyExpressions::chosen_inside(std::span<const Value> coordinates, std::span<const Size> extents,
                                     const Value& inside, const Value& otherwise, const Place& place) {
    Value within = Value::of(true);
    for (size_t i = 0; i < extents.size(); ++i) {
        Value extent = Value::of(extents[i]).with_from_template(false);
        for (const Value& holds : {operations().binary(ScalarOp::greater_equal, coordinates[i], Value::of(0), place),
                                   operations().binary(ScalarOp::less, coordinates[i], extent, place)})
            within = operations().binary(ScalarOp::logical_and, within, holds, place);
    }
    return operations().select(within, inside, otherwise, place);
}

Value BodyExpressions::guarded(TensorIndex tensor, const std::vector<Value>& coordinates, const Value& otherwise,
                               const Place& place) {
    const BodyTensor& from = tensors_[static_cast<size_t>(tensor)];
    DType dtype = from.bound->type.dtype;
    NodeList own = tensor_coordinates(from, coordinates, place);
    Element outside = operations().element(otherwise, place);
    Element inside = elements_.widened(nodes_.read(tensor, dtype, own));
    elements_.unify(inside, outside, "??", place);
    if (!is_narrow(dtype)) return Value::of(Element{nodes_.guarded_read(tensor, dtype, std::move(own), outside.node)});
    if (auto stored = as_stored(outside, dtype))
        return Value::of(elements_.widened(nodes_.guarded_read(tensor, dtype, std::move(own), *stored)));
    // The value outside has more places than the tensor's type: it is chosen after widening.
    NodeId within = nodes_.boolean(true);
    for (size_t i = 0; i < own.size(); ++i) {
        NodeId extent = nodes_.sized_integer(from.bound->type.shape[i], DType::int64, false);
        NodeId zero = nodes_.integer(0, DType::int64, true);
        NodeId fits = nodes_.scalar(ScalarOp::logical_and, {nodes_.scalar(ScalarOp::greater_equal, {own[i], zero}),
                                                            nodes_.scalar(ScalarOp::less, {own[i], extent})});
        within = nodes_.scalar(ScalarOp::logical_and, {within, fits});
    }
    NodeId zero = nodes_.integer(0, dtype, true);
    NodeId guarded = nodes_.cast(nodes_.guarded_read(tensor, dtype, std::move(own), zero), info(dtype).arithmetic);
    return Value::of(Element{nodes_.select(within, guarded, outside.node)});
}

std::vector<Value> BodyExpressions::coordinates_by_name(const BodyTensor& tensor, const Place& place) {
    const BoundTensor& bound = *tensor.bound;
    std::vector<Value> result;
    result.reserve(bound.coordinates.size());
    size_t expected = tensor.spec->shape ? bound.coordinates.size() : bound.type.shape.size();
    // A name of one axis, or the position in a list of axes.
    auto axis = [&](std::string_view name, bool listed, int32_t position) -> const Value* {
        const Value* found = name.empty() ? nullptr : axes_.find(name);
        if (!found) return nullptr;
        if (!found->is_list()) return listed ? nullptr : found;
        bool inside = listed && static_cast<size_t>(position) < found->list().size();
        return inside ? &found->list()[static_cast<size_t>(position)] : nullptr;
    };
    for (const PatternCoordinate& coordinate : bound.coordinates) {
        const Value* value = axis(coordinate.name, coordinate.spread, coordinate.position);
        if (!value) value = axis(coordinate.group, true, coordinate.group_position);
        if (value) result.push_back(*value);
    }
    if (result.size() == expected) return result;
    const size_t axes = all_coordinates_.list().size();
    if (axes == expected) return all_coordinates_.list();
    Diagnostic diagnostic = elements_.error(
        "symbolic.no_element", place, fmt::format("'{}' has no element of its own at an index point", bound.name));
    diagnostic.expected = "dimensions named like axes of the index, or as many dimensions as the index";
    diagnostic.found =
        fmt::format("{} of {} dimensions are axes of the index, which has {}", result.size(), expected, axes);
    diagnostic.remedy = fmt::format(
        "give its coordinates: {}[...]; reduce over those that the index lacks: sum(k < $n : ...)", tensor.spec->name);
    elements_.refuse(std::move(diagnostic));
}

Value BodyExpressions::bare(TensorIndex tensor, const Place& place) {
    const BodyTensor& from = tensors_[static_cast<size_t>(tensor)];
    if (from.spec->ipf && from.spec->ipf->kind == Syntax::Kind::rows) {
        bool elements = true;
        for (const SyntaxPointer& row : from.spec->ipf->children)
            visit_all(row, [&](const Syntax& node) {
                elements = elements && node.kind != Syntax::Kind::whole && node.kind != Syntax::Kind::ranged;
            });
        if (elements)
            return read(tensor,
                        expanded(from.spec->ipf->children, static_cast<int64_t>(from.bound->type.shape.size()), {}),
                        place);
    }
    return read(tensor, coordinates_by_name(from, place), place);
}

LocalId BodyExpressions::add_local(std::string name, VariableList variables, Element value, const Syntax* statement) {
    return elements_.add_array({std::move(name), elements_.dtype(value), std::move(variables), value.node}, value.weak,
                               statement);
}

StateId BodyExpressions::add_state(BodyState state) {
    Local local{state.name, state.type ? state.type->dtype : DType::int64, {state.step}, no_id};
    local.variables.insert(local.variables.end(), state.outer.begin(), state.outer.end());
    local.variables.insert(local.variables.end(), state.own.begin(), state.own.end());
    state.local = elements_.add_array(std::move(local), state.type ? state.type->weak : Element::Weak::integer,
                                      state.equation);
    states_.push_back(std::move(state));
    return last_id<StateId>(states_);
}

// How many steps before the present one a coordinate t - 1, t - 2, ... lies; 0 for any other.
int64_t BodyExpressions::steps_back(NodeId coordinate, VariableId step) const {
    const Node& node = nodes_.node(coordinate);
    if (node.kind != Node::Kind::scalar || node.operands.size() != 2) return 0;
    if (node.op != ScalarOp::subtract && node.op != ScalarOp::add) return 0;
    const Node& left = nodes_.node(node.operands[0]);
    const auto distance = nodes_.literal_integer(node.operands[1]);
    if (left.kind != Node::Kind::variable || left.variable() != step || !distance) return 0;
    return std::max<int64_t>(0, node.op == ScalarOp::subtract ? *distance : -*distance);
}

Element BodyExpressions::state_before(StateId id) {
    const BodyState& state = states_[id];
    NodeList here;
    for (VariableId axis : state.outer) here.push_back(nodes_.variable(axis));
    for (VariableId axis : state.own) here.push_back(nodes_.variable(axis));
    return Element{nodes_.previous(state.local, state.type->dtype, std::move(here)), state.type->weak};
}

// A state that is at each step what `id` was `steps` before it. What it begins with is never read.
StateId BodyExpressions::delayed_state(StateId id, int64_t steps) {
    while (static_cast<int64_t>(states_[id].delayed.size()) < steps) {
        const size_t already = states_[id].delayed.size();
        const LocalId source = states_[already == 0 ? id : states_[id].delayed.back()].local;
        BodyState delayed = states_[id];
        delayed.name = fmt::format("{}_before{}", delayed.name, already + 1);
        delayed.delayed.clear();
        NodeList own;
        for (VariableId axis : delayed.outer) own.push_back(nodes_.variable(axis));
        for (VariableId& axis : delayed.own) {
            const Variable variable = body_.variable(axis);
            axis = nodes_.add_variable(variable.name, variable.kind, variable.extent);
            own.push_back(nodes_.variable(axis));
        }
        const DType dtype = delayed.type->dtype;
        const StateId made = add_state(std::move(delayed));
        Local& local = body_.locals[states_[made].local];
        local.value = nodes_.previous(source, dtype, std::move(own));
        local.initial = nodes_.integer(0, dtype, true);
        states_[id].delayed.push_back(made);
    }
    return states_[id].delayed[static_cast<size_t>(steps) - 1];
}

// s[t - steps, ...] ?? otherwise
Value BodyExpressions::read_earlier(StateId id, int64_t steps, std::vector<Value> coordinates, const Value& otherwise,
                                    const Place& place) {
    constexpr int64_t most_steps = 64;
    if (steps > most_steps) {
        Diagnostic diagnostic = elements_.error("symbolic.state_step", place,
                                                fmt::format("'{}' is read {} steps back", states_[id].name, steps));
        diagnostic.expected = fmt::format("at most {}", most_steps);
        diagnostic.remedy = "keep the steps in a state of its own, with an axis for them";
        elements_.refuse(std::move(diagnostic));
    }
    const bool known = states_[id].type.has_value();
    const BodyState from = states_[known ? delayed_state(id, steps - 1) : id];
    const Value step = variable_value(from.step);
    coordinates[0] = operations().binary(ScalarOp::subtract, step, Value::of(1), place);
    const Value inside = read_state(from, coordinates, place);
    const Value begun = operations().binary(ScalarOp::greater_equal, step, Value::of(steps - 1), place);
    return operations().select(begun, inside, otherwise, place);
}

// Inside its scan at `t - 1` and, behind its equation, at `t`; after the scan at any step from -1.
Value BodyExpressions::read_state(const BodyState& state, const std::vector<Value>& given, const Place& place) {
    if (given.size() != 1 + state.own.size()) refuse_rank(state.name, 1 + state.own.size(), given.size(), place);
    NodeList coordinates;
    for (const Value& one : given) coordinates.push_back(coordinate(one, place));
    const int64_t back = state.active ? steps_back(coordinates[0], state.step) : 0;
    const bool before = back == 1;
    const bool present = coordinates[0] == nodes_.variable(state.step);
    if (state.active && !before && !(present && state.defined)) {
        const std::string& step = body_.variable(state.step).name;
        Diagnostic diagnostic = elements_.error(
            "symbolic.state_step", place,
            present ? fmt::format("'{}' is read at {} before its equation", state.name, step)
                    : fmt::format("'{}' is read at a step that is neither {} nor the one before", state.name, step));
        diagnostic.expected = state.defined ? fmt::format("{0} or {0} - 1", step) : fmt::format("{} - 1", step);
        diagnostic.reason = back > 1 ? "the first steps have none so far back" : "a scan computes its steps in order";
        const std::string own = state.own.empty() ? "" : ", ...";
        diagnostic.remedy =
            back > 1  ? fmt::format("write {}[{} - {}{}] ?? v for a value before there are so many", state.name, step,
                                    back, own)
            : present ? fmt::format("read {}[{} - 1{}], or put its equation first", state.name, step, own)
                      : fmt::format("read {0}[{1} - 1{2}], {0}[{1} - 2{2}] ?? v, or other steps after the scan",
                                    state.name, step, own);
        elements_.refuse(std::move(diagnostic));
    }
    if (!state.active && !state.defined) throw EvaluationFailure{};
    if (!state.type && state.assumed_real)
        return Value::of(Element{nodes_.real(0, DType::float64, true), Element::Weak::real});
    if (!state.type) return Value::of(elements_.weak_integer(0, true));
    NodeId one = nodes_.integer(1, DType::int64, true);
    if (before)
        coordinates.erase(coordinates.begin());
    else
        coordinates[0] = nodes_.scalar(ScalarOp::add, {coordinates[0], one});
    NodeList outer;
    for (VariableId axis : state.outer) outer.push_back(nodes_.variable(axis));
    coordinates.insert(coordinates.begin() + (before ? 0 : 1), outer.begin(), outer.end());
    NodeId node = before ? nodes_.previous(state.local, state.type->dtype, std::move(coordinates))
                         : nodes_.local(state.local, state.type->dtype, std::move(coordinates));
    elements_.note_read(node, place);
    return Value::of(Element{node, state.type->weak});
}

Value BodyExpressions::read_local(LocalId local, const std::vector<Value>& coordinates, const Place& place) {
    const Local& array = body_.local(local);
    if (coordinates.size() != array.variables.size())
        refuse_rank(array.name, array.variables.size(), coordinates.size(), place);
    NodeList own;
    for (const Value& one : coordinates) own.push_back(coordinate(one, place));
    NodeId node = nodes_.local(local, array.dtype, std::move(own));
    return Value::of(elements_.element_of(local, node, place));
}

}  // namespace heddle
