#include "symbolic/body_expression.h"

#include <fmt/format.h>

#include <algorithm>

#include "language/parser.h"

namespace heddle {

using ValueKind = BodyValue::Kind;

// Guards the recursion over an expression, through user functions too.
struct BodyExpressions::Depth {
    Depth(BodyExpressions& owner, const Place& place) : owner_(owner) {
        ++owner_.depth_;
        owner_.values_.spend(1, place);
        if (owner_.depth_ <= deepest_evaluation) return;
        --owner_.depth_;
        Diagnostic diagnostic = owner_.elements_.error("symbolic.limit", place, "the expression is nested too deep");
        diagnostic.expected = fmt::format("at most {} levels, functions included", deepest_evaluation);
        diagnostic.remedy = "name parts of it with let";
        owner_.elements_.refuse(std::move(diagnostic));
    }
    ~Depth() { --owner_.depth_; }
    BodyExpressions& owner_;
};

BodyExpressions::BodyExpressions(Environment& environment, Body& body)
    : environment_(environment),
      nodes_(body),
      elements_(nodes_, environment),
      values_(elements_, environment.budget()),
      body_(body) {
    for (size_t position = 0; position < environment.inputs().size(); ++position) {
        const BoundInput& input = environment.inputs()[position];
        first_tensor_.push_back(static_cast<int32_t>(tensors_.size()));
        for (size_t element = 0; element < input.tensors.size(); ++element)
            tensors_.push_back(
                {{static_cast<int32_t>(position), static_cast<int32_t>(element)}, &input.tensors[element], input.spec});
    }
    size_t axes = 0;
    for (const BoundAxis& axis : environment.index()) axes += axis.extents.size();
    index_variables_.reserve(axes);
    all_coordinates_.reserve(axes);
    axes_.reserve(environment.index().size());
    for (const BoundAxis& axis : environment.index()) {
        std::vector<BodyValue> coordinates;
        if (axis.spread) coordinates.reserve(axis.extents.size());
        for (size_t i = 0; i < axis.extents.size(); ++i) {
            std::string name = axis.name.empty() ? "axis" + std::to_string(index_variables_.size()) : axis.name;
            if (axis.spread && !axis.name.empty()) name += std::to_string(i);
            VariableId id = nodes_.add_variable(std::move(name), Variable::Kind::index, axis.extents[i]);
            index_variables_.push_back(id);
            all_coordinates_.push_back(variable_value(id));
            if (axis.spread) coordinates.push_back(all_coordinates_.back());
        }
        if (!axis.name.empty())
            axes_.set(axis.name, axis.spread ? BodyValue::of(std::move(coordinates)) : all_coordinates_.back());
    }
}

BodyValue BodyExpressions::evaluate(const Syntax& syntax, const BodyScope& scope) {
    BodyValue value = reference(syntax, scope);
    if (value.kind == ValueKind::failed) throw BodyFailure{};
    if (value.kind == ValueKind::tensor) return bare(value.index, syntax.place);
    if (value.kind == ValueKind::local && body_.locals[static_cast<size_t>(value.index)].variables.empty())
        return read_local(value.index, {}, syntax.place);
    if (value.kind == ValueKind::tensors || value.kind == ValueKind::local || value.kind == ValueKind::state)
        values_.refuse_type(
            syntax.place, "a name of several elements stands where one is needed", "one element",
            value.kind == ValueKind::tensors ? "pick a tensor, as in tensors[$i]" : "give it coordinates");
    return value;
}

BodyValue BodyExpressions::reference(const Syntax& syntax, const BodyScope& scope) {
    Depth depth(*this, syntax.place);
    switch (syntax.kind) {
    case Syntax::Kind::integer: return BodyValue::of(StaticValue::of(syntax.integer), true);
    case Syntax::Kind::real: return BodyValue::of(StaticValue::of(syntax.real), true);
    case Syntax::Kind::text: return BodyValue::of(StaticValue::of(syntax.text), true);
    case Syntax::Kind::boolean: return BodyValue::of(StaticValue::of(syntax.integer != 0), true);
    case Syntax::Kind::none: return BodyValue::of(StaticValue::none(), true);
    case Syntax::Kind::static_name: {
        auto value = environment_.lookup(syntax.text, syntax.place);
        if (!value) throw BodyFailure{std::move(value.error())};
        bool number = value->is_number() || value->is_list();
        return BodyValue::of(std::move(*value), !number);
    }
    case Syntax::Kind::attribute:
    case Syntax::Kind::fill: {
        auto value = environment_.evaluate(syntax);
        if (!value) throw BodyFailure{std::move(value.error())};
        bool number = value->is_number() || value->is_list();
        return BodyValue::of(std::move(*value), !number);
    }
    case Syntax::Kind::index_name: return index_coordinate(syntax);
    case Syntax::Kind::index_all: return BodyValue::of(all_coordinates_);
    case Syntax::Kind::name: return named(syntax, scope);
    case Syntax::Kind::unary: return values_.unary(syntax.text, evaluate(*syntax.children[0], scope), syntax.place);
    case Syntax::Kind::binary: return binary(syntax, scope);
    case Syntax::Kind::conditional: return conditional(syntax, scope);
    case Syntax::Kind::subscript: return subscript(syntax, scope);
    case Syntax::Kind::slice: return slice(syntax, scope);
    case Syntax::Kind::guard: return guard(syntax, scope);
    case Syntax::Kind::call: return call(syntax, scope);
    case Syntax::Kind::reduction: return reduction(syntax, scope);
    case Syntax::Kind::list: return values_.list_of(expanded(syntax.children, 0, std::nullopt, scope));
    case Syntax::Kind::comprehension: return comprehension(syntax, scope);
    default: break;
    }
    values_.refuse_type(syntax.place, fmt::format("{} has no value in a body", name(syntax.kind)), "an expression", "");
}

BodyValue BodyExpressions::index_coordinate(const Syntax& syntax) {
    if (const BodyValue* axis = axes_.find(syntax.text)) return *axis;
    Diagnostic diagnostic =
        elements_.error("symbolic.unknown_name", syntax.place, fmt::format("the index has no axis @{}", syntax.text));
    std::vector<std::string> known;
    for (const auto& [axis_name, value] : axes_) known.emplace_back(axis_name);
    std::sort(known.begin(), known.end());
    std::string nearest = nearest_name(syntax.text, known);
    if (!nearest.empty())
        diagnostic.remedy = fmt::format("did you mean @{}?", nearest);
    else
        diagnostic.remedy = fmt::format("the axes are: {}", fmt::join(known, ", "));
    elements_.refuse(std::move(diagnostic));
}

BodyValue BodyExpressions::named(const Syntax& syntax, const BodyScope& scope) {
    const std::string& text = syntax.text;
    if (const BodyValue* value = scope.find(text)) return *value;
    if (int32_t position = environment_.input_position(text); position >= 0) {
        const BoundInput& input = environment_.inputs()[static_cast<size_t>(position)];
        if (!input.given) {
            Diagnostic diagnostic =
                elements_.error("symbolic.not_given", syntax.place,
                                fmt::format("optional input '{}' is read where it was not given", text));
            diagnostic.remedy = fmt::format("test it first: has({}) ? ... : ...", text);
            elements_.refuse(std::move(diagnostic));
        }
        BodyValue value;
        value.kind = input.spec->variadic ? ValueKind::tensors : ValueKind::tensor;
        value.index = input.spec->variadic ? position : first_tensor_[static_cast<size_t>(position)];
        return value;
    }
    if (auto dtype = dtype_named(text)) return BodyValue::of(StaticValue::of(*dtype), true);
    if (environment_.output_position(text) >= 0) {
        Diagnostic diagnostic = elements_.error("symbolic.output_read", syntax.place,
                                                fmt::format("output '{}' is read in its own body", text));
        diagnostic.reason = "outputs are written only; their elements have no order";
        diagnostic.remedy = "name the value with let, and use that name here and in the output's equation";
        elements_.refuse(std::move(diagnostic));
    }
    Diagnostic diagnostic =
        elements_.error("symbolic.unknown_name", syntax.place, fmt::format("unknown name '{}'", text));
    std::vector<std::string> known;
    for (const BodyScope* s = &scope; s; s = s->outer)
        for (const auto& [local, value] : s->names) known.emplace_back(local);
    for (const BoundInput& input : environment_.inputs()) known.push_back(input.spec->name);
    std::string nearest = nearest_name(text, known);
    if (axes_.contains(text))
        diagnostic.remedy = fmt::format("did you mean @{}?", text);
    else if (environment_.lookup(text, syntax.place))
        diagnostic.remedy = fmt::format("did you mean ${}?", text);
    else if (!nearest.empty())
        diagnostic.remedy = fmt::format("did you mean {}?", nearest);
    elements_.refuse(std::move(diagnostic));
}

void BodyExpressions::need_new_name(std::string_view name, const BodyScope& scope, const Place& place) {
    std::string_view meaning = scope.find(name)                          ? "a name of this body"
                               : environment_.input_position(name) >= 0  ? "an input"
                               : environment_.output_position(name) >= 0 ? "an output"
                                                                         : "";
    if (meaning.empty()) return;
    Diagnostic diagnostic = elements_.error("symbolic.shadow", place, fmt::format("'{}' is {} already", name, meaning));
    diagnostic.reason = "one name means one thing at any place";
    diagnostic.remedy = "choose another name";
    elements_.refuse(std::move(diagnostic));
}

BodyValue BodyExpressions::binary(const Syntax& syntax, const BodyScope& scope) {
    BodyValue left = evaluate(*syntax.children[0], scope);
    bool conjunction = syntax.text == "&&", disjunction = syntax.text == "||";
    if (conjunction || disjunction) {
        if (left.is_list())
            values_.refuse_type(syntax.children[0]->place, "a list is never a condition", "one bool",
                                "write all(...) or any(...)");
        if (left.is_fixed() && left.value.is_boolean() && left.value.boolean() == disjunction) return left;
        BodyValue right = evaluate(*syntax.children[1], scope);
        return conjunction ? values_.both(left, right, syntax.mark) : values_.either(left, right, syntax.mark);
    }
    BodyValue right = evaluate(*syntax.children[1], scope);
    return values_.binary(syntax.text, left, right, syntax.mark);
}

BodyValue BodyExpressions::conditional(const Syntax& syntax, const BodyScope& scope) {
    BodyValue condition = evaluate(*syntax.children[0], scope);
    if (condition.is_list())
        values_.refuse_type(syntax.children[0]->place, "a list is never a condition", "one bool",
                            "write all(...), any(...), or where(...) for each element");
    if (condition.is_fixed()) {
        if (!condition.value.is_boolean())
            values_.refuse_type(syntax.children[0]->place,
                                fmt::format("{} is not a condition", condition.value.describe()), "a bool",
                                "write a comparison");
        return evaluate(*syntax.children[condition.value.boolean() ? 1 : 2], scope);
    }
    BodyValue then = evaluate(*syntax.children[1], scope), otherwise = evaluate(*syntax.children[2], scope);
    return values_.select(condition, then, otherwise, syntax.place);
}

BodyValue BodyExpressions::one(const Syntax& element, const BodyScope& scope) {
    BodyValue value = evaluate(element, scope);
    if (value.is_list())
        values_.refuse_type(element.place, "a list inside a list", "one element", "write ... after it to expand it");
    return value;
}

std::vector<BodyValue> BodyExpressions::expanded(std::span<const SyntaxPointer> children, size_t first,
                                                 std::optional<size_t> size, const BodyScope& scope) {
    std::vector<BodyValue> result;
    result.reserve(std::max(children.size() - first, size.value_or(4)));
    std::optional<size_t> fill;
    for (size_t i = first; i < children.size(); ++i) {
        const Syntax& child = *children[i];
        bool spread = child.kind == Syntax::Kind::spread;
        if (!spread) {
            result.push_back(one(child, scope));
            continue;
        }
        BodyValue value = evaluate(*child.children[0], scope);
        bool counted = child.children.size() > 1;
        std::optional<int64_t> count;
        if (counted)
            count = values_.static_integer(evaluate(*child.children[1], scope), "the count", child.children[1]->place);
        if (value.is_list()) {
            std::vector<BodyValue> items = values_.items(std::move(value), child.place);
            if (count && *count != static_cast<int64_t>(items.size()))
                values_.refuse_type(child.place, fmt::format("a list of {} elements has {} here", items.size(), *count),
                                    fmt::format("{} elements", *count), "");
            result.insert(result.end(), std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
        } else if (count) {
            values_.spend(std::max<int64_t>(*count, 0), child.place);
            for (int64_t n = 0; n < *count; ++n) result.push_back(value);
        } else {
            if (fill || !size)
                values_.refuse_type(child.place, fill ? "two fills in one list" : "a fill has no size here", "a list",
                                    "give its count, as in 0...{n}");
            fill = result.size();
            result.push_back(std::move(value));
        }
    }
    if (fill) {
        BodyValue value = result[*fill];
        result.erase(result.begin() + static_cast<std::ptrdiff_t>(*fill));
        while (result.size() < *size) result.insert(result.begin() + static_cast<std::ptrdiff_t>(*fill), value);
    }
    return result;
}

BodyValue BodyExpressions::subscript(const Syntax& syntax, const BodyScope& scope) {
    BodyValue base = reference(*syntax.children[0], scope);
    if (base.kind == ValueKind::failed) throw BodyFailure{};
    if (base.is_list() || base.is_fixed()) {
        // An index that is a list picks.
        for (size_t i = 1; i < syntax.children.size(); ++i)
            base = values_.pick(base, evaluate(*syntax.children[i], scope), syntax.place);
        return base;
    }
    std::vector<BodyValue> indices = expanded(syntax.children, 1, std::nullopt, scope);
    if (base.kind == ValueKind::tensor) return read(base.index, indices, syntax.place);
    if (base.kind == ValueKind::local) return read_local(base.index, indices, syntax.place);
    if (base.kind == ValueKind::state) return read_state(state(base.index), indices, syntax.place);
    if (base.kind == ValueKind::tensors) {
        if (indices.size() != 1) refuse_rank("the list of tensors", 1, indices.size(), syntax.place);
        int64_t number = values_.static_integer(indices[0], "the number of a tensor", syntax.place);
        const BoundInput& input = environment_.inputs()[static_cast<size_t>(base.index)];
        auto count = static_cast<int64_t>(input.tensors.size());
        if (number < -count || number >= count) {
            Diagnostic diagnostic =
                elements_.error("symbolic.range", syntax.place,
                                fmt::format("tensor {} of {} in '{}'", number, count, input.spec->name));
            elements_.refuse(std::move(diagnostic));
        }
        BodyValue tensor;
        tensor.kind = ValueKind::tensor;
        tensor.index =
            first_tensor_[static_cast<size_t>(base.index)] + static_cast<int32_t>(number < 0 ? number + count : number);
        return tensor;
    }
    Diagnostic diagnostic = elements_.error("symbolic.rank", syntax.place, "one element has no coordinates");
    diagnostic.expected = "a tensor, a list or a local array";
    elements_.refuse(std::move(diagnostic));
}

BodyValue BodyExpressions::slice(const Syntax& syntax, const BodyScope& scope) {
    BodyValue base = reference(*syntax.children[0], scope);
    if (base.kind == ValueKind::tensor || base.kind == ValueKind::tensors || base.kind == ValueKind::local ||
        base.kind == ValueKind::state)
        values_.refuse_type(syntax.place, "a slice of a tensor in a body", "coordinates of one element",
                            "a body computes one element: write its coordinates");
    auto bound = [&](const SyntaxPointer& child) {
        return child ? evaluate(*child, scope) : BodyValue::of(StaticValue::none(), true);
    };
    return values_.slice(base, bound(syntax.children[1]), bound(syntax.children[2]), syntax.place);
}

BodyValue BodyExpressions::guard(const Syntax& syntax, const BodyScope& scope) {
    const Syntax& access = *syntax.children[0];
    BodyValue base;
    if (access.kind == Syntax::Kind::subscript) base = reference(*access.children[0], scope);
    if (base.kind == ValueKind::failed) throw BodyFailure{};
    if (base.kind != ValueKind::tensor) {
        const bool is_array = base.kind == ValueKind::local || base.kind == ValueKind::state;
        Diagnostic diagnostic =
            elements_.error("symbolic.guard", syntax.place,
                            is_array ? fmt::format("?? stands behind '{}', which is {}", access.children[0]->text,
                                                   base.kind == ValueKind::local ? "a local array" : "a state")
                                     : "?? stands behind something that is not an access");
        diagnostic.expected = is_array ? "a tensor" : "an access with coordinates, as in x[@n - 1] ?? 0";
        diagnostic.reason = is_array ? "only tensors are read outside" : "a guard binds to its access alone";
        diagnostic.remedy = is_array ? fmt::format("write a condition around it, as in j >= 1 ? {}[j - 1] : 0",
                                                   access.children[0]->text)
                                     : "write ?? behind each access";
        elements_.refuse(std::move(diagnostic));
    }
    std::vector<BodyValue> coordinates = expanded(access.children, 1, std::nullopt, scope);
    return guarded(base.index, coordinates, evaluate(*syntax.children[1], scope), syntax.place);
}

BodyValue BodyExpressions::call(const Syntax& syntax, const BodyScope& scope) {
    if (syntax.text == "has") {
        bool nameable = syntax.children.size() == 1 && (syntax.children[0]->kind == Syntax::Kind::name ||
                                                        syntax.children[0]->kind == Syntax::Kind::static_name);
        if (!nameable) values_.refuse_type(syntax.place, "has takes one name", "a name", "");
        auto given = environment_.has(syntax.children[0]->text, syntax.children[0]->place);
        if (!given) throw BodyFailure{std::move(given.error())};
        return BodyValue::of(StaticValue::of(*given), true);
    }
    if (!syntax.named.empty()) {
        Diagnostic diagnostic = elements_.error("symbolic.arguments", syntax.named[0].place,
                                                fmt::format("{} takes no named arguments", syntax.text));
        elements_.refuse(std::move(diagnostic));
    }
    std::vector<BodyValue> arguments;
    for (const SyntaxPointer& child : syntax.children) {
        if (child->kind != Syntax::Kind::spread) {
            arguments.push_back(evaluate(*child, scope));
            continue;
        }
        for (BodyValue& item : expanded({&child, 1}, 0, std::nullopt, scope)) arguments.push_back(std::move(item));
    }
    // NumPy's sum(x): here it would be the element at the point, silently.
    bool one_element = syntax.children.size() == 1 && syntax.children[0]->kind != Syntax::Kind::spread &&
                       arguments[0].kind == ValueKind::element;
    if (one_element && is_reduction_name(syntax.text))
        values_.refuse_type(syntax.place, fmt::format("{} of one element", syntax.text), "a reduction, or a list",
                            fmt::format("name what it runs over: {}(k < $n : x[k])", syntax.text));
    const FunctionTable& functions = *environment_.metakernel().functions;
    if (auto function = functions.find(syntax.text); function != functions.end())
        return user_function(function->second, arguments, syntax.place);
    return values_.function(syntax.text, arguments, syntax.place);
}

BodyValue BodyExpressions::user_function(const FunctionLet& function, const std::vector<BodyValue>& arguments,
                                         const Place& place) {
    if (arguments.size() != function.parameters.size()) {
        Diagnostic diagnostic = elements_.error("symbolic.arguments", place,
                                                fmt::format("{} takes {} arguments, {} given", function.name,
                                                            function.parameters.size(), arguments.size()));
        elements_.refuse(std::move(diagnostic));
    }
    BodyScope scope;
    for (size_t i = 0; i < arguments.size(); ++i) scope.names.set(function.parameters[i], arguments[i]);
    return evaluate(*function.value, scope);
}

BodyValue BodyExpressions::comprehension(const Syntax& syntax, const BodyScope& scope) {
    std::vector<BodyValue> result;
    comprehend(syntax, 0, scope, result);
    return values_.list_of(std::move(result));
}

void BodyExpressions::comprehend(const Syntax& syntax, size_t generator, const BodyScope& scope,
                                 std::vector<BodyValue>& result) {
    if (generator == syntax.generators.size()) {
        if (syntax.filter) {
            BodyValue keep = evaluate(*syntax.filter, scope);
            if (!keep.is_fixed() || !keep.value.is_boolean())
                values_.refuse_type(syntax.filter->place, "the filter of a list is not static", "a static bool", "");
            if (!keep.value.boolean()) return;
        }
        const SyntaxPointer& element = syntax.children[0];
        if (element->kind != Syntax::Kind::spread) {
            result.push_back(evaluate(*element, scope));  // which may be a list: a list of lists
            return;
        }
        for (BodyValue& item : expanded({&element, 1}, 0, std::nullopt, scope)) result.push_back(std::move(item));
        return;
    }
    const Generator& from = syntax.generators[generator];
    need_new_name(from.name, scope, from.place);
    BodyValue range = evaluate(*from.range, scope);
    std::vector<BodyValue> items;
    if (from.kind == Generator::Kind::in) {
        items = values_.items(range, from.range->place);
    } else {
        int64_t count = values_.static_integer(range, "the count of a list", from.range->place);
        values_.spend(std::max<int64_t>(count, 0), from.place);
        for (int64_t i = 0; i < count; ++i) items.push_back(BodyValue::of(StaticValue::of(i), false));
    }
    for (BodyValue& item : items) {
        BodyScope inner{&scope, {}};
        inner.names.set(from.name, std::move(item));
        comprehend(syntax, generator + 1, inner, result);
    }
}

}  // namespace heddle
