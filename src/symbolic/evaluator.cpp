#include "symbolic/evaluator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "language/functions.h"
#include "language/parser.h"
#include "symbolic/environment_state.h"

namespace heddle {
namespace {

// Syntax trees within each other, functions and names included. Each takes some hundred bytes of the stack.
constexpr int32_t deepest_recursion = 1'000;

class Nesting {
public:
    Nesting(int32_t& depth, int64_t most, const Place& place, std::string_view what) : depth_(depth) {
        if (depth_ >= most) refuse(limit_error(place, fmt::format("more than {} {} within each other", most, what)));
        ++depth_;
    }
    ~Nesting() { --depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

private:
    int32_t& depth_;
};

bool is_list_literal(const Syntax& syntax) {
    return syntax.kind == Syntax::Kind::list || syntax.kind == Syntax::Kind::comprehension;
}

// Whether a function gives its parameter coordinates, or hands it on to one that may.
bool needs_array(const FunctionLet& function, const std::string& parameter) {
    bool needs = false;
    visit_all(function.value, [&](const Syntax& node) {
        if (node.kind != Syntax::Kind::subscript && node.kind != Syntax::Kind::call) return;
        size_t looked_at = node.kind == Syntax::Kind::call ? node.children.size() : 1;
        for (size_t i = 0; i < looked_at; ++i)
            needs = needs || (node.children[i]->kind == Syntax::Kind::name && node.children[i]->text == parameter);
    });
    return needs;
}

}  // namespace

Evaluator::Evaluator(Environment& environment, BodyElements* elements)
    : environment_(environment), operations_(environment, elements) {}

Value Evaluator::reference(const Syntax& syntax, const Scope& scope) {
    operations_.spend(1, syntax.place);
    Nesting nesting(environment_.state().frames, deepest_recursion, syntax.place, "expressions");
    return evaluate_inner(syntax, scope);
}

Value Evaluator::evaluate_inner(const Syntax& syntax, const Scope& scope) {
    using Kind = Syntax::Kind;
    switch (syntax.kind) {
    case Kind::integer: return Value::of(syntax.integer);
    case Kind::real: return Value::of(syntax.real);
    case Kind::text: return Value::of(syntax.text);
    case Kind::boolean: return Value::of(syntax.integer != 0);
    case Kind::none: return Value::none();
    case Kind::static_name: return static_name(syntax);
    case Kind::name:
        if (const Value* value = scope.find(syntax.text)) return *value;
        return free_name(syntax, scope);
    case Kind::unary: return operations_.unary(syntax.text, operand(*syntax.children[0], scope), syntax.place);
    case Kind::binary: {
        if (syntax.text == "&&" || syntax.text == "||") return logical(syntax, scope);
        Value left = operand(*syntax.children[0], scope);
        return operations_.binary(binary_operator(syntax.text), left, operand(*syntax.children[1], scope), syntax.mark);
    }
    case Kind::conditional: return conditional(syntax, scope);
    case Kind::subscript: return subscript(syntax, scope);
    case Kind::slice: return slice(syntax, scope);
    case Kind::attribute: return attribute(syntax, scope);
    case Kind::fill: return filled(syntax, scope);
    case Kind::call: return call(syntax, scope);
    case Kind::scoped: return scoped(syntax, scope);
    case Kind::list: return list(syntax, expanded(syntax.children, fill_size_, scope));
    case Kind::comprehension: {
        std::vector<Value> elements;
        comprehend(syntax, 0, scope, elements);
        return list(syntax, std::move(elements));
    }
    default: return of_body(syntax, scope);
    }
}

// ---- names

// Numbers that a name stands for are not of the template's text.
Value Evaluator::static_name(const Syntax& syntax) {
    Value value = unwrapped(environment_.lookup(syntax.text, syntax.place));
    bool number = value.is_number() || value.is_list();
    return std::move(value).with_from_template(!number);
}

void Evaluator::refuse_unknown(const Syntax& name, std::string summary, std::string remedy) {
    Diagnostic diagnostic = operations_.error("symbolic.unknown_name", name.place, std::move(summary));
    diagnostic.remedy = std::move(remedy);
    throw EvaluationFailure{{std::move(diagnostic)}};
}

Value Evaluator::free_name(const Syntax& syntax, const Scope&) {
    if (auto dtype = dtype_named(syntax.text)) return Value::of(*dtype);
    if (is_dtype_name(syntax.text)) {
        Diagnostic reserved = operations_.error("symbolic.reserved_dtype", syntax.place,
                                                fmt::format("Heddle has no tensors of {}", syntax.text));
        std::vector<std::string_view> names;
        for (const DTypeInfo& info : all_dtypes()) names.push_back(info.name);
        reserved.expected = fmt::format("{}", fmt::join(names, ", "));
        reserved.remedy = "compute in one of these";
        reserved.reason = "the name may stand in `constraints` and in rows of `kernels` only";
        throw EvaluationFailure{{std::move(reserved)}};
    }
    refuse_unknown(syntax, fmt::format("{} has no static value", syntax.text),
                   environment_.state().slot(syntax.text) ? fmt::format("did you mean ${}?", syntax.text) : "");
}

Value Evaluator::of_body(const Syntax& syntax, const Scope&) {
    Diagnostic diagnostic =
        operations_.error("symbolic.not_static", syntax.place, "a static expression is needed here");
    diagnostic.found = print(syntax);
    if (syntax.kind == Syntax::Kind::index_name || syntax.kind == Syntax::Kind::index_all)
        diagnostic.reason = "@ names a coordinate, whose value is not known until the operation runs";
    else if (syntax.kind == Syntax::Kind::reduction)
        diagnostic.remedy = "of static values, write sum([e for i < n])";
    throw EvaluationFailure{{std::move(diagnostic)}};
}

Value Evaluator::settled(Value value, const Place& place) {
    if (value.is_failed()) throw EvaluationFailure{};
    refuse(type_error(place, "a name of several elements stands where one is needed", "one element", value));
}

// ---- conditions

Value Evaluator::logical(const Syntax& syntax, const Scope& scope) {
    const bool conjunction = syntax.text == "&&";
    auto side = [&](size_t child) {
        Value value = operand(*syntax.children[child], scope);
        if (value.is_list())
            operations_.refuse_type(syntax.children[child]->place, "a list is never a condition", "one bool",
                                    "write all(...) or any(...)");
        return value;
    };
    Value left = side(0);
    if (left.is_boolean() && left.boolean() != conjunction) return left;
    return operations_.binary(conjunction ? ScalarOp::logical_and : ScalarOp::logical_or, left, side(1), syntax.mark);
}

Value Evaluator::conditional(const Syntax& syntax, const Scope& scope) {
    const Syntax& asked = *syntax.children[0];
    Value condition = operand(asked, scope);
    if (condition.is_list())
        operations_.refuse_type(asked.place, "a list is never a condition", "one bool",
                                "write all(...), any(...), or where(...) for each element");
    if (condition.is_boolean()) return evaluate(*syntax.children[condition.boolean() ? 1 : 2], scope);
    if (condition.is_static() || condition.is_result())
        refuse(type_error(asked.place, fmt::format("{} is not a condition", condition.describe()), "a static bool",
                          condition, "write a comparison"));
    Value then = evaluate(*syntax.children[1], scope);
    return operations_.select(condition, then, evaluate(*syntax.children[2], scope), syntax.place);
}

bool Evaluator::condition(const Syntax& syntax, const Scope& scope, std::string_view what) {
    Value value = operand(syntax, scope);
    if (value.is_boolean()) return value.boolean();
    refuse(type_error(syntax.place, fmt::format("{} is not a static condition", what), "a static bool", value));
}

// ---- parts

Value Evaluator::subscript(const Syntax& syntax, const Scope& scope) {
    Value base = reference(*syntax.children[0], scope);
    if (base.is_failed()) throw EvaluationFailure{};
    if (!base.is_static() && !base.is_list()) return accessed(base, syntax, scope);
    std::span<const SyntaxPointer> indices(syntax.children.begin() + 1, syntax.children.end());
    // A list as an index picks, so that it is no mistake here.
    if (indices.size() == 1 && indices[0]->kind != Syntax::Kind::spread)
        return operations_.pick(base, operand(*indices[0], scope), syntax.place);
    for (const Value& index : expanded(indices, std::nullopt, scope))
        base = operations_.pick(base, index, syntax.place);
    return base;
}

Value Evaluator::slice(const Syntax& syntax, const Scope& scope) {
    Value base = reference(*syntax.children[0], scope);
    if (base.is_failed()) throw EvaluationFailure{};
    if (!base.is_static() && !base.is_list()) return accessed(base, syntax, scope);
    Value bounds[2];
    for (size_t side = 0; side < 2; ++side) {
        if (!syntax.children[side + 1]) continue;
        bounds[side] = operand(*syntax.children[side + 1], scope);
        if (bounds[side].is_none())
            refuse(type_error(syntax.place, "a slice is bounded by integers", "an integer", bounds[side]));
    }
    return operations_.slice(base, bounds[0], bounds[1], syntax.place);
}

Value Evaluator::accessed(const Value& base, const Syntax& syntax, const Scope&) {
    refuse(type_error(syntax.place, "only a list has elements", "a list", base));
}

Value Evaluator::attribute(const Syntax& syntax, const Scope& scope) {
    Value base = operand(*syntax.children[0], scope);
    if (base.is_tensor()) return tensor_attribute(syntax, base.tensor());
    if (base.is_list() && syntax.text == "size")
        return Value::of(static_cast<int64_t>(base.list().size())).with_from_template(false);
    if (base.is_list() && syntax.text == "shape") return base;
    refuse(type_error(syntax.place, fmt::format(".{} is asked of a tensor", syntax.text), "a tensor", base));
}

Value Evaluator::tensor_attribute(const Syntax& syntax, const BoundTensor& tensor) {
    if (syntax.text == "shape") return Value::of_sizes(tensor.type.shape).with_from_template(false);
    if (syntax.text == "rank")
        return Value::of(static_cast<int64_t>(tensor.type.shape.size())).with_from_template(false);
    if (syntax.text == "dtype") return Value::of(tensor.type.dtype);
    if (syntax.text == "value" && tensor.value) return Value(*tensor.value).with_from_template(false);
    if (syntax.text != "value")
        refuse_unknown(syntax, fmt::format("a tensor has .shape, .rank, .dtype and .value, but no .{}", syntax.text),
                       "");
    Diagnostic diagnostic = operations_.error("symbolic.not_concrete", syntax.place,
                                              fmt::format("the value of {} is not known", tensor.name));
    diagnostic.remedy = "give the input `flavour: concrete`";
    throw EvaluationFailure{{std::move(diagnostic)}};
}

// ---- lists

Value Evaluator::list(const Syntax& syntax, std::vector<Value> elements) {
    Value value = Value::of(std::move(elements));
    if (value.list_depth() > deepest_list) refuse(limit_error(syntax.place, "lists are nested too deeply"));
    return value;
}

Value Evaluator::filled(const Syntax& syntax, const Scope& scope) {
    if (!fill_size_)
        refuse(static_error("symbolic.fill", syntax.place, "a fill has no size here", "give it one: 1...{n}"));
    Value value = operand(*syntax.children[0], scope);
    operations_.spend_list(*fill_size_, syntax.place);
    return Value::of(Value::List(static_cast<size_t>(*fill_size_), value));
}

Value Evaluator::one(const Syntax& element, const Scope& scope) {
    Value value = evaluate(element, scope);
    if (value.is_list() && !is_list_literal(element))
        refuse(static_error("symbolic.list_in_list", element.place, "a list as an element of a list",
                            fmt::format("write {}... to expand it", print(element))));
    return value;
}

void Evaluator::append(const Syntax& element, const Scope& scope, std::vector<Value>& result,
                       std::optional<size_t>& fill) {
    if (element.kind == Syntax::Kind::named_element) return append(*element.children[0], scope, result, fill);
    if (element.kind == Syntax::Kind::spread) return append_spread(element, scope, result, fill);
    result.push_back(one(element, scope));
}

void Evaluator::append_spread(const Syntax& spread, const Scope& scope, std::vector<Value>& result,
                              std::optional<size_t>& fill) {
    Value value = evaluate(*spread.children[0], scope);
    std::optional<int64_t> count;
    if (spread.children.size() > 1)
        count = operations_.integer(operand(*spread.children[1], scope), "the count of a spread",
                                    spread.children[1]->place);
    if (value.is_list()) {
        auto found = static_cast<int64_t>(value.list().size());
        if (count && *count != found)
            refuse(static_error(
                "symbolic.length", spread.place,
                fmt::format("{} elements, where {{{}}} asks for {}", found, print(*spread.children[1]), *count)));
        operations_.spend_list(static_cast<int64_t>(result.size()) + found, spread.place);
        for (size_t i = 0; i < value.list().size(); ++i) result.push_back(value.at(i));
        return;
    }
    if (!count) {
        if (fill) refuse(static_error("symbolic.fill", spread.place, "two fills in one list"));
        fill = result.size();
        result.push_back(std::move(value));
        return;
    }
    if (*count < 0)
        refuse(static_error("symbolic.length", spread.place, fmt::format("a spread of {} elements", *count)));
    operations_.spend_list(static_cast<int64_t>(result.size()) + *count, spread.place);
    result.insert(result.end(), static_cast<size_t>(*count), value);
}

std::vector<Value> Evaluator::expanded(std::span<const SyntaxPointer> elements, std::optional<int64_t> size,
                                       const Scope& scope) {
    std::vector<Value> result;
    result.reserve(std::max<size_t>(elements.size(), static_cast<size_t>(size.value_or(0))));
    std::optional<size_t> fill;
    std::swap(size, fill_size_);
    for (const SyntaxPointer& element : elements) append(*element, scope, result, fill);
    std::swap(size, fill_size_);
    if (!fill) return result;
    const Place& place = elements[0]->place;
    if (!size) refuse(static_error("symbolic.fill", place, "a fill has no size here", "give it one: 1...{n}"));
    int64_t missing = *size - static_cast<int64_t>(result.size()) + 1;
    if (missing < 0)
        refuse(static_error("symbolic.fill", place,
                            fmt::format("{} elements, where {} are described", result.size() - 1, *size)));
    operations_.spend_list(*size, place);
    Value filling = result[*fill];
    auto at = result.erase(result.begin() + static_cast<std::ptrdiff_t>(*fill));
    result.insert(at, static_cast<size_t>(missing), filling);
    return result;
}

void Evaluator::comprehend(const Syntax& syntax, size_t generator, const Scope& scope, std::vector<Value>& result) {
    if (generator == syntax.generators.size()) {
        if (syntax.filter && !condition(*syntax.filter, scope, "the filter of a list")) return;
        std::optional<size_t> fill;
        const Syntax& element = *syntax.children[0];
        if (element.kind == Syntax::Kind::spread)
            append_spread(element, scope, result, fill);
        else
            result.push_back(evaluate(element, scope));  // which may be a list: a list of lists
        if (result.size() > static_cast<size_t>(largest_static_list))
            operations_.spend_list(static_cast<int64_t>(result.size()), syntax.place);
        return;
    }
    const Generator& source = syntax.generators[generator];
    need_new_name(source.name, scope, source.place);
    Value range = operand(*source.range, scope);
    const bool below = source.kind == Generator::Kind::below;
    if (below ? !range.is_integer() : !range.is_list())
        refuse(type_error(source.range->place,
                          fmt::format("{} runs {}", source.name, below ? "below a static integer" : "through a list"),
                          below ? "a static integer" : "a list", range));
    int64_t count = below ? range.integer() : static_cast<int64_t>(range.list().size());
    Scope inner{&scope, {}};
    for (int64_t i = 0; i < count; ++i) {
        operations_.spend(1, syntax.place);
        inner.names.set(source.name, below ? Value::of(i).with_from_template(false) : range.at(static_cast<size_t>(i)));
        comprehend(syntax, generator + 1, inner, result);
    }
}

// ---- calls

Value Evaluator::given_presence(const Syntax& syntax) {
    const Syntax* name = syntax.children.size() == 1 ? syntax.children[0].get() : nullptr;
    if (!name || (name->kind != Syntax::Kind::name && name->kind != Syntax::Kind::static_name))
        operations_.refuse_type(syntax.place, "has takes one name", "a name", "");
    return Value::of(unwrapped(environment_.has(name->text, name->place)));
}

// A function of the file's own gets an array as it is, where it gives it coordinates.
std::vector<Value> Evaluator::call_arguments(const Syntax& syntax, const Scope& scope, const FunctionLet* own) {
    std::vector<Value> arguments;
    arguments.reserve(syntax.children.size());
    for (const SyntaxPointer& child : syntax.children) {
        if (child->kind == Syntax::Kind::spread) {
            std::ranges::move(expanded({&child, 1}, std::nullopt, scope), std::back_inserter(arguments));
            continue;
        }
        Value argument = reference(*child, scope);
        const size_t position = arguments.size();
        const bool as_it_is = argument.is_array() && own && position < own->parameters.size() &&
                              needs_array(*own, own->parameters[position]);
        if (argument.is_failed() || (argument.is_array() && !as_it_is))
            argument = settled(std::move(argument), child->place);
        arguments.push_back(std::move(argument));
    }
    return arguments;
}

Value Evaluator::call(const Syntax& syntax, const Scope& scope) {
    if (syntax.text == "has") return given_presence(syntax);
    if (!syntax.named.empty())
        refuse(static_error("symbolic.arguments", syntax.named[0].place,
                            fmt::format("{} takes no named arguments", syntax.text)));
    const FunctionTable& functions = *environment_.metakernel().functions;
    auto own = functions.find(syntax.text);
    std::vector<Value> arguments = call_arguments(syntax, scope, own == functions.end() ? nullptr : &own->second);
    if (own != functions.end()) return user_function(syntax, own->second, arguments);
    // NumPy's sum(x): here it would be the element at the point, silently.
    bool one_element =
        syntax.children.size() == 1 && syntax.children[0]->kind != Syntax::Kind::spread && arguments[0].is_element();
    if (one_element && is_reduction_name(syntax.text))
        operations_.refuse_type(syntax.place, fmt::format("{} of one element", syntax.text), "a reduction, or a list",
                                fmt::format("name what it runs over: {}(k < $n : x[k])", syntax.text));
    return operations_.function(syntax.text, arguments, syntax.place);
}

Value Evaluator::user_function(const Syntax& syntax, const FunctionLet& function, const std::vector<Value>& arguments) {
    if (arguments.size() != function.parameters.size())
        refuse(static_error(
            "symbolic.arguments", syntax.place,
            fmt::format("{} takes {} arguments, not {}", function.name, function.parameters.size(), arguments.size())));
    Nesting nesting(environment_.state().nesting, deepest_evaluation, syntax.place, "functions");
    Scope scope;
    scope.names.reserve(arguments.size());
    for (size_t i = 0; i < arguments.size(); ++i) scope.names.set(function.parameters[i], arguments[i]);
    try {
        return evaluate(*function.value, scope);
    } catch (EvaluationFailure& failure) {
        for (Diagnostic& diagnostic : failure.diagnostics)
            if (diagnostic.contexts.size() < 4)
                diagnostic.contexts.push_back({fmt::format("in the call of {}", function.name), syntax.place});
        throw;
    }
}

Value Evaluator::scoped(const Syntax& syntax, const Scope& scope) {
    Scope inner{&scope, {}};
    for (const SyntaxPointer& part : syntax.children) {
        if (part->kind != Syntax::Kind::let) return evaluate(*part, inner);
        inner.names.set(part->text, let(*part, inner));
    }
    return Value::none();  // not reached: the value is the last
}

Value Evaluator::let(const Syntax& statement, const Scope& scope) {
    if (statement.generators.empty()) return evaluate(*statement.value, scope);
    Diagnostic diagnostic =
        operations_.error("symbolic.not_static", statement.place, "a local array stands in a body only");
    diagnostic.remedy = "of static values make a list: [e for i < n]";
    throw EvaluationFailure{{std::move(diagnostic)}};
}

// ---- static expressions

Result<StaticValue> Environment::evaluate(const Syntax& expression) {
    // Mostly a name, of which nobody need be told by an exception that a pattern has not bound it yet.
    if (expression.kind == Syntax::Kind::static_name) return lookup(expression.text, expression.place);
    try {
        return Evaluator(*this).evaluate(expression, {});
    } catch (EvaluationFailure& failure) {
        return fail(std::move(failure.diagnostics));
    }
}

Result<std::vector<StaticValue>> Environment::evaluate_elements(std::span<const SyntaxPointer> elements) {
    try {
        return Evaluator(*this).expanded(elements, std::nullopt, {});
    } catch (EvaluationFailure& failure) {
        return fail(std::move(failure.diagnostics));
    }
}

}  // namespace heddle
