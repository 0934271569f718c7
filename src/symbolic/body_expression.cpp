#include "symbolic/body_expression.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "language/functions.h"
#include "language/parser.h"

namespace heddle {

BodyExpressions::BodyExpressions(Environment& environment, Body& body, const StateTypes* types)
    : Evaluator(environment, &elements_),
      environment_(environment),
      types_(types),
      nodes_(body),
      elements_(nodes_, environment),
      body_(body) {
    for (size_t position = 0; position < environment.inputs().size(); ++position) {
        const BoundInput& input = environment.inputs()[position];
        first_tensor_.push_back(next_id<TensorIndex>(tensors_));
        for (size_t element = 0; element < input.tensors.size(); ++element)
            tensors_.push_back(
                {{static_cast<int32_t>(position), static_cast<int32_t>(element)}, &input.tensors[element], input.spec});
    }
    size_t axes = 0;
    for (const BoundAxis& axis : environment.index()) axes += axis.extents.size();
    index_variables_.reserve(axes);
    axes_.reserve(environment.index().size());
    Value::List all;
    all.reserve(axes);
    for (const BoundAxis& axis : environment.index()) {
        size_t first = all.size();
        for (size_t i = 0; i < axis.extents.size(); ++i) {
            std::string name = axis.name.empty() ? "axis" + std::to_string(index_variables_.size()) : axis.name;
            if (axis.spread && !axis.name.empty()) name += std::to_string(i);
            VariableId id = nodes_.add_variable(std::move(name), Variable::Kind::index, axis.extents[i]);
            index_variables_.push_back(id);
            all.push_back(variable_value(id));
        }
        if (axis.name.empty()) continue;
        auto own = all.begin() + static_cast<std::ptrdiff_t>(first);
        axes_.set(axis.name, axis.spread ? Value::of(Value::List(own, all.end())) : all.back());
    }
    all_coordinates_ = Value::of(std::move(all));
}

// ---- names

Value BodyExpressions::input(int32_t position, const Place& place) {
    const BoundInput& input = environment_.inputs()[static_cast<size_t>(position)];
    if (!input.given) {
        Diagnostic diagnostic =
            elements_.error("symbolic.not_given", place,
                            fmt::format("optional input '{}' is read where it was not given", input.spec->name));
        diagnostic.remedy = fmt::format("test it first: has({}) ? ... : ...", input.spec->name);
        elements_.refuse(std::move(diagnostic));
    }
    if (input.spec->variadic) return Value::of(BodyArray{BodyArray::Kind::tensors, position});
    return Value::of(BodyArray{BodyArray::Kind::tensor, first_tensor_[static_cast<size_t>(position)]});
}

Value BodyExpressions::free_name(const Syntax& syntax, const Scope& scope) {
    const std::string& text = syntax.text;
    if (int32_t position = environment_.input_position(text); position >= 0) return input(position, syntax.place);
    if (is_dtype_name(text)) return Evaluator::free_name(syntax, scope);
    if (environment_.output_position(text) >= 0) {
        Diagnostic diagnostic = elements_.error("symbolic.output_read", syntax.place,
                                                fmt::format("output '{}' is read in its own body", text));
        diagnostic.reason = "outputs are written only; their elements have no order";
        diagnostic.remedy =
            "name the value with let, and use that name here and in the output's equation; what a loop adds up is a "
            "reduction, sum(k < $n : ...)";
        elements_.refuse(std::move(diagnostic));
    }
    std::vector<std::string> known;
    for (const Scope* s = &scope; s; s = s->outer)
        for (const auto& [local, value] : s->names) known.emplace_back(local);
    for (const BoundInput& input : environment_.inputs()) known.push_back(input.spec->name);
    std::string nearest = nearest_name(text, known);
    refuse_unknown(syntax, fmt::format("unknown name '{}'", text),
                   axes_.contains(text)                      ? fmt::format("did you mean @{}?", text)
                   : environment_.lookup(text, syntax.place) ? fmt::format("did you mean ${}?", text)
                   : !nearest.empty()                        ? fmt::format("did you mean {}?", nearest)
                                                             : "");
}

Value BodyExpressions::index_coordinate(const Syntax& syntax) {
    if (const Value* axis = axes_.find(syntax.text)) return *axis;
    std::vector<std::string> known;
    for (const auto& [axis_name, value] : axes_) known.emplace_back(axis_name);
    std::sort(known.begin(), known.end());
    std::string nearest = nearest_name(syntax.text, known);
    refuse_unknown(syntax, fmt::format("the index has no axis @{}", syntax.text),
                   !nearest.empty() ? fmt::format("did you mean @{}?", nearest)
                                    : fmt::format("the axes are: {}", fmt::join(known, ", ")));
}

void BodyExpressions::need_new_name(std::string_view name, const Scope& scope, const Place& place) {
    std::string_view meaning = scope.find(name)                          ? "a name of this body"
                               : stands_for_others_                      ? ""
                               : environment_.input_position(name) >= 0  ? "an input"
                               : environment_.output_position(name) >= 0 ? "an output"
                                                                         : "";
    if (meaning.empty()) return;
    Diagnostic diagnostic = elements_.error("symbolic.shadow", place, fmt::format("'{}' is {} already", name, meaning));
    diagnostic.reason = "one name means one thing at any place";
    diagnostic.remedy = "choose another name";
    elements_.refuse(std::move(diagnostic));
}

// ---- what only a body has

Value BodyExpressions::of_body(const Syntax& syntax, const Scope& scope) {
    switch (syntax.kind) {
    case Syntax::Kind::index_name: return index_coordinate(syntax);
    case Syntax::Kind::index_all: return all_coordinates_;
    case Syntax::Kind::guard: return guard(syntax, scope);
    case Syntax::Kind::reduction: return reduction(syntax, scope);
    default:
        operations().refuse_type(syntax.place, fmt::format("{} has no value in a body", name(syntax.kind)),
                                 "an expression", "");
    }
}

Value BodyExpressions::let(const Syntax& statement, const Scope& scope) {
    Scope inner{&scope, {}};
    if (statement.generators.empty()) {
        Value value = evaluate(*statement.value, inner);
        if (value.is_element()) body_.names.push_back({value.element().node, statement.text});
        return value;
    }
    VariableList variables;
    for (const Generator& generator : statement.generators) bind(generator, Variable::Kind::parallel, inner, variables);
    Element value = element(*statement.value, inner);
    return array_of(statement, std::move(variables), value);
}

Value BodyExpressions::array_of(const Syntax& statement, VariableList variables, Element value) {
    const Place& place = statement.place;
    const auto taken = types_ ? types_->find(&statement) : StateTypes::const_iterator{};
    if (types_ && taken != types_->end()) value = elements_.taken_as(value, taken->second.dtype, statement.text, place);
    if (arrays_where_) {
        const Element zero{nodes_.integer(0, elements_.dtype(value), true), value.weak};
        const Value chosen = operations().select(*arrays_where_, Value::of(value), Value::of(zero), place);
        value = operations().element(chosen, place);
    }
    return Value::of(
        BodyArray{BodyArray::Kind::local, add_local(statement.text, std::move(variables), value, &statement)});
}

// A bare tensor is the element that its pattern or its projection names.
Value BodyExpressions::settled(Value value, const Place& place) {
    if (value.is_failed()) throw EvaluationFailure{};
    const BodyArray& array = value.array();
    if (array.kind == BodyArray::Kind::tensor) return bare(TensorIndex(array.index), place);
    if (array.kind == BodyArray::Kind::local && body_.local(LocalId(array.index)).variables.empty())
        return read_local(LocalId(array.index), {}, place);
    operations().refuse_type(
        place, "a name of several elements stands where one is needed", "one element",
        array.kind == BodyArray::Kind::tensors ? "pick a tensor, as in tensors[$i]" : "give it coordinates");
}

Value BodyExpressions::accessed(const Value& base, const Syntax& syntax, const Scope& scope) {
    if (syntax.kind == Syntax::Kind::slice && base.is_array())
        operations().refuse_type(syntax.place, "a slice of a tensor in a body", "coordinates of one element",
                                 "a body computes one element: write its coordinates");
    if (!base.is_array()) {
        Diagnostic diagnostic = elements_.error("symbolic.rank", syntax.place, "one element has no coordinates");
        diagnostic.expected = "a tensor, a list or a local array";
        elements_.refuse(std::move(diagnostic));
    }
    std::span<const SyntaxPointer> coordinates(syntax.children.begin() + 1, syntax.children.end());
    std::vector<Value> indices = expanded(coordinates, std::nullopt, scope);
    const int32_t index = base.array().index;
    switch (base.array().kind) {
    case BodyArray::Kind::tensor: return read(TensorIndex(index), indices, syntax.place);
    case BodyArray::Kind::local: return read_local(LocalId(index), indices, syntax.place);
    case BodyArray::Kind::state:
        if (state(StateId(index)).front) return read_cell(StateId(index), indices, syntax.place);
        return read_state(state(StateId(index)), indices, syntax.place);
    case BodyArray::Kind::steps: return read_step(index, indices, syntax.place);
    case BodyArray::Kind::tensors: break;
    }
    return picked_tensor(index, indices, syntax.place);
}

Value BodyExpressions::picked_tensor(int32_t position, const std::vector<Value>& indices, const Place& place) {
    if (indices.size() != 1) refuse_rank("the list of tensors", 1, indices.size(), place);
    int64_t number = operations().integer(indices[0], "the number of a tensor", place);
    const BoundInput& input = environment_.inputs()[static_cast<size_t>(position)];
    auto count = static_cast<int64_t>(input.tensors.size());
    if (number < -count || number >= count)
        elements_.refuse(elements_.error("symbolic.range", place,
                                         fmt::format("tensor {} of {} in '{}'", number, count, input.spec->name)));
    return Value::of(BodyArray{
        BodyArray::Kind::tensor,
        first_tensor_[static_cast<size_t>(position)] + static_cast<int32_t>(number < 0 ? number + count : number)});
}

}  // namespace heddle
