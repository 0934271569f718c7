// Static expressions: evaluation of the syntax tree (docs/language.md section 3).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "language/functions.h"
#include "symbolic/environment.h"
#include "symbolic/environment_state.h"
#include "symbolic/static_errors.h"

namespace heddle {
namespace {

using Value = StaticValue;
using Kind = Syntax::Kind;

// Syntax trees within each other, functions and names included. Each takes a few hundred bytes of the stack.
constexpr int32_t deepest_recursion = 2'000;

class Evaluator {
public:
    explicit Evaluator(Environment& environment) : environment_(environment), state_(environment.state()) {}

    Result<Value> evaluate(const Syntax& syntax, const StaticScope* scope);
    // Appends the value or values of an element to `list`; notes where a fill stands, of which there may be one.
    Result<void> element(const Syntax& element, const StaticScope* scope, Value::List& list,
                         std::optional<size_t>& fill);
    Result<Value::List> elements(std::span<const SyntaxPointer> elements, std::optional<int64_t> size,
                                 const StaticScope* scope);

private:
    Result<Value> evaluate_inner(const Syntax& syntax, const StaticScope* scope);
    Result<Value> bare_name(const Syntax& syntax, const StaticScope* scope);
    Result<Value> logical(const Syntax& syntax, const StaticScope* scope);
    Result<bool> condition(const Syntax& syntax, const StaticScope* scope);
    Result<Value> subscript(const Syntax& syntax, const StaticScope* scope);
    Result<Value> slice(const Syntax& syntax, const StaticScope* scope);
    Result<Value> attribute(const Syntax& syntax, const StaticScope* scope);
    Result<Value> tensor_attribute(const Syntax& syntax, const BoundTensor& tensor);
    Result<Value> call(const Syntax& syntax, const StaticScope* scope);
    Result<Value> call_user_function(const Syntax& syntax, const FunctionLet& function, Value::List arguments);
    Result<Value> comprehension(const Syntax& syntax, const StaticScope* scope);
    Result<void> generate(const Syntax& syntax, size_t generator, const StaticScope* scope, Value::List& list);
    Result<Value> filled(const Syntax& syntax, const StaticScope* scope);
    std::unexpected<Diagnostics> not_static(const Syntax& syntax);

    Environment& environment_;
    Environment::State& state_;
};

Result<Value> Evaluator::evaluate(const Syntax& syntax, const StaticScope* scope) {
    if (!state_.budget.spend(1)) {
        return limit_error(syntax.place,
                           fmt::format("one application takes more than {} steps to evaluate", largest_evaluation));
    }
    if (state_.frames >= deepest_recursion) return limit_error(syntax.place, "an expression is nested too deeply");
    ++state_.frames;
    auto result = evaluate_inner(syntax, scope);
    --state_.frames;
    return result;
}

Result<Value> Evaluator::evaluate_inner(const Syntax& syntax, const StaticScope* scope) {
    switch (syntax.kind) {
    case Kind::integer: return Value::of(syntax.integer);
    case Kind::real: return Value::of(syntax.real);
    case Kind::text: return Value::of(syntax.text);
    case Kind::boolean: return Value::of(syntax.integer != 0);
    case Kind::none: return Value::none();
    case Kind::static_name: return environment_.lookup(syntax.text, syntax.place);
    case Kind::name: return bare_name(syntax, scope);
    case Kind::unary: {
        auto operand = evaluate(*syntax.children[0], scope);
        return operand ? static_unary(syntax.text, *operand, syntax.place, state_.budget) : operand;
    }
    case Kind::binary: {
        if (syntax.text == "&&" || syntax.text == "||") return logical(syntax, scope);
        auto left = evaluate(*syntax.children[0], scope);
        if (!left) return left;
        auto right = evaluate(*syntax.children[1], scope);
        if (!right) return right;
        return static_binary(syntax.text, *left, *right, syntax.place, state_.budget);
    }
    case Kind::conditional: {
        auto chosen = condition(*syntax.children[0], scope);
        if (!chosen) return std::unexpected(chosen.error());
        return evaluate(*syntax.children[*chosen ? 1 : 2], scope);
    }
    case Kind::subscript: return subscript(syntax, scope);
    case Kind::slice: return slice(syntax, scope);
    case Kind::attribute: return attribute(syntax, scope);
    case Kind::fill: return filled(syntax, scope);
    case Kind::call: return call(syntax, scope);
    case Kind::list: {
        auto list = elements(syntax.children, state_.fill_size, scope);
        if (!list) return std::unexpected(list.error());
        Value value = Value::of(std::move(*list));
        if (value.list_depth() > deepest_list) return limit_error(syntax.place, "lists are nested too deeply");
        return value;
    }
    case Kind::comprehension: return comprehension(syntax, scope);
    default: return not_static(syntax);
    }
}

std::unexpected<Diagnostics> Evaluator::not_static(const Syntax& syntax) {
    Diagnostic diagnostic =
        environment_.diagnostic("symbolic.not_static", syntax.place, "a static expression is needed here");
    diagnostic.found = print(syntax);
    if (syntax.kind == Kind::index_name || syntax.kind == Kind::index_all) {
        diagnostic.reason = "@ names a coordinate, whose value is not known until the operation runs";
    } else if (syntax.kind == Kind::reduction) {
        diagnostic.remedy = "of static values, write sum([e for i < n])";
    }
    return fail(std::move(diagnostic));
}

Result<Value> Evaluator::bare_name(const Syntax& syntax, const StaticScope* scope) {
    if (const Value* value = StaticScope::find(scope, syntax.text)) return *value;
    if (auto dtype = dtype_named(syntax.text)) return Value::of(*dtype);
    if (is_dtype_name(syntax.text)) {
        Diagnostic reserved = environment_.diagnostic("symbolic.reserved_dtype", syntax.place,
                                                      fmt::format("Heddle has no tensors of {}", syntax.text));
        std::vector<std::string_view> names;
        for (const DTypeInfo& info : all_dtypes()) names.push_back(info.name);
        reserved.expected = fmt::format("{}", fmt::join(names, ", "));
        reserved.remedy = "compute in one of these";
        reserved.reason = "the name may stand in `constraints` and in rows of `kernels` only";
        return fail(std::move(reserved));
    }
    Diagnostic diagnostic = environment_.diagnostic("symbolic.unknown_name", syntax.place,
                                                    fmt::format("{} has no static value", syntax.text));
    if (!environment_.metakernel().graph.empty() && environment_.metakernel().input(syntax.text)) {
        diagnostic.remedy = "a graph computes by operators: add2(x, b) for x + b; or write a body";
    } else if (state_.slot(syntax.text)) {
        diagnostic.remedy = fmt::format("did you mean ${}?", syntax.text);
    }
    return fail(std::move(diagnostic));
}

Result<bool> Evaluator::condition(const Syntax& syntax, const StaticScope* scope) {
    auto value = evaluate(syntax, scope);
    if (!value) return std::unexpected(value.error());
    if (value->is_boolean()) return value->boolean();
    return type_error(syntax.place, "a condition is a bool", "a bool", *value,
                      value->is_list() ? "use all(), any() or where()" : "compare it with something");
}

Result<Value> Evaluator::logical(const Syntax& syntax, const StaticScope* scope) {
    auto left = condition(*syntax.children[0], scope);
    if (!left) return std::unexpected(left.error());
    if (*left == (syntax.text == "||")) return Value::of(*left);
    auto right = condition(*syntax.children[1], scope);
    if (!right) return std::unexpected(right.error());
    return Value::of(*right);
}

Result<Value> Evaluator::subscript(const Syntax& syntax, const StaticScope* scope) {
    auto value = evaluate(*syntax.children[0], scope);
    if (!value) return value;
    std::span<const SyntaxPointer> indices(syntax.children.begin() + 1, syntax.children.end());
    // A list as an index picks, so that it is no mistake here.
    if (indices.size() == 1 && indices[0]->kind != Kind::spread) {
        auto index = evaluate(*indices[0], scope);
        return index ? static_element(*value, *index, syntax.place, state_.budget) : index;
    }
    auto wanted = elements(indices, std::nullopt, scope);
    if (!wanted) return std::unexpected(wanted.error());
    for (const Value& index : *wanted) {
        value = static_element(*value, index, syntax.place, state_.budget);
        if (!value) return value;
    }
    return value;
}

Result<Value> Evaluator::slice(const Syntax& syntax, const StaticScope* scope) {
    auto base = evaluate(*syntax.children[0], scope);
    if (!base) return base;
    Value bounds[2];
    for (size_t side = 0; side < 2; ++side) {
        if (!syntax.children[side + 1]) continue;
        auto bound = evaluate(*syntax.children[side + 1], scope);
        if (!bound) return bound;
        if (bound->is_none()) return type_error(syntax.place, "a slice is bounded by integers", "an integer", *bound);
        bounds[side] = std::move(*bound);
    }
    return static_slice(*base, bounds[0], bounds[1], syntax.place, state_.budget);
}

Result<Value> Evaluator::attribute(const Syntax& syntax, const StaticScope* scope) {
    auto base = evaluate(*syntax.children[0], scope);
    if (!base) return base;
    if (base->is_tensor()) return tensor_attribute(syntax, base->tensor());
    if (base->is_list() && syntax.text == "size") return Value::of(static_cast<int64_t>(base->list().size()));
    if (base->is_list() && syntax.text == "shape") return base;
    return type_error(syntax.place, fmt::format(".{} is asked of a tensor", syntax.text), "a tensor", *base);
}

Result<Value> Evaluator::tensor_attribute(const Syntax& syntax, const BoundTensor& tensor) {
    if (syntax.text == "shape") return Value::of_sizes(tensor.type.shape);
    if (syntax.text == "rank") return Value::of(static_cast<int64_t>(tensor.type.shape.size()));
    if (syntax.text == "dtype") return Value::of(tensor.type.dtype);
    if (syntax.text == "value") {
        if (tensor.value) return *tensor.value;
        Diagnostic diagnostic = environment_.diagnostic("symbolic.not_concrete", syntax.place,
                                                        fmt::format("the value of {} is not known", tensor.name));
        diagnostic.remedy = "give the input `flavour: concrete`";
        return fail(std::move(diagnostic));
    }
    return fail(
        environment_.diagnostic("symbolic.unknown_name", syntax.place,
                                fmt::format("a tensor has .shape, .rank, .dtype and .value, but no .{}", syntax.text)));
}

Result<Value> Evaluator::filled(const Syntax& syntax, const StaticScope* scope) {
    if (!state_.fill_size) {
        return static_error("symbolic.fill", syntax.place, "a fill has no size here", "give it one: 1...{n}");
    }
    auto value = evaluate(*syntax.children[0], scope);
    if (!value) return value;
    if (auto spent = spend_list(*state_.fill_size, syntax.place, state_.budget); !spent)
        return std::unexpected(spent.error());
    return Value::of(Value::List(static_cast<size_t>(*state_.fill_size), *value));
}

Result<Value> Evaluator::call(const Syntax& syntax, const StaticScope* scope) {
    if (syntax.text == "has" && syntax.children.size() == 1) {
        auto given = environment_.has(syntax.children[0]->text, syntax.children[0]->place);
        if (!given) return std::unexpected(given.error());
        return Value::of(*given);
    }
    if (!syntax.named.empty()) {
        return static_error("symbolic.arguments", syntax.named[0].place,
                            fmt::format("{} takes no named arguments", syntax.text));
    }
    Value::List arguments;
    arguments.reserve(syntax.children.size());
    for (const auto& child : syntax.children) {
        if (child->kind == Kind::spread) {
            std::optional<size_t> fill;
            if (auto added = element(*child, scope, arguments, fill); !added) return std::unexpected(added.error());
            continue;
        }
        auto argument = evaluate(*child, scope);
        if (!argument) return argument;
        arguments.push_back(std::move(*argument));
    }
    const FunctionTable& functions = *environment_.metakernel().functions;
    auto own = functions.find(syntax.text);
    if (own != functions.end()) return call_user_function(syntax, own->second, std::move(arguments));
    return static_function(syntax.text, arguments, syntax.place, state_.budget);
}

Result<Value> Evaluator::call_user_function(const Syntax& syntax, const FunctionLet& function, Value::List arguments) {
    if (arguments.size() != function.parameters.size()) {
        return static_error(
            "symbolic.arguments", syntax.place,
            fmt::format("{} takes {} arguments, not {}", function.name, function.parameters.size(), arguments.size()));
    }
    if (state_.nesting >= deepest_evaluation) {
        return limit_error(syntax.place, fmt::format("more than {} functions within each other", deepest_evaluation));
    }
    std::vector<StaticScope> scopes(arguments.size());
    for (size_t i = 0; i < arguments.size(); ++i) {
        scopes[i] = {i == 0 ? nullptr : &scopes[i - 1], function.parameters[i], &arguments[i]};
    }
    ++state_.nesting;
    auto result = evaluate(*function.value, scopes.empty() ? nullptr : &scopes.back());
    --state_.nesting;
    if (!result) {
        for (Diagnostic& diagnostic : result.error()) {
            if (diagnostic.contexts.size() < 4) {
                diagnostic.contexts.push_back({fmt::format("in the call of {}", function.name), syntax.place});
            }
        }
    }
    return result;
}

Result<Value> Evaluator::comprehension(const Syntax& syntax, const StaticScope* scope) {
    Value::List list;
    if (auto done = generate(syntax, 0, scope, list); !done) return std::unexpected(done.error());
    Value value = Value::of(std::move(list));
    if (value.list_depth() > deepest_list) return limit_error(syntax.place, "lists are nested too deeply");
    return value;
}

Result<void> Evaluator::generate(const Syntax& syntax, size_t generator, const StaticScope* scope, Value::List& list) {
    if (generator == syntax.generators.size()) {
        if (syntax.filter) {
            auto kept = condition(*syntax.filter, scope);
            if (!kept) return std::unexpected(kept.error());
            if (!*kept) return {};
        }
        if (syntax.children[0]->kind == Kind::spread) {
            std::optional<size_t> fill;
            return element(*syntax.children[0], scope, list, fill);
        }
        auto value = evaluate(*syntax.children[0], scope);
        if (!value) return std::unexpected(value.error());
        list.push_back(std::move(*value));
        return spend_list(
            static_cast<int64_t>(list.size() > static_cast<size_t>(largest_static_list) ? list.size() : 0),
            syntax.place, state_.budget);
    }
    const Generator& source = syntax.generators[generator];
    auto range = evaluate(*source.range, scope);
    if (!range) return std::unexpected(range.error());
    bool below = source.kind == Generator::Kind::below;
    if (below ? !range->is_integer() : !range->is_list()) {
        return type_error(source.place,
                          fmt::format("{} runs {}", source.name, below ? "below an integer" : "through a list"),
                          below ? "an integer" : "a list", *range);
    }
    int64_t count = below ? range->integer() : static_cast<int64_t>(range->list().size());
    for (int64_t i = 0; i < count; ++i) {
        if (!state_.budget.spend(1)) return limit_error(syntax.place, "a comprehension takes too many steps");
        Value number = below ? Value::of(i) : Value::none();
        StaticScope inner{scope, source.name, below ? &number : &range->list()[static_cast<size_t>(i)]};
        if (auto done = generate(syntax, generator + 1, &inner, list); !done) return done;
    }
    return {};
}

bool is_list_literal(const Syntax& syntax) { return syntax.kind == Kind::list || syntax.kind == Kind::comprehension; }

Result<void> Evaluator::element(const Syntax& syntax, const StaticScope* scope, Value::List& list,
                                std::optional<size_t>& fill) {
    if (syntax.kind == Kind::named_element) return element(*syntax.children[0], scope, list, fill);
    bool spread = syntax.kind == Kind::spread;
    const Syntax& inner = spread ? *syntax.children[0] : syntax;
    auto value = evaluate(inner, scope);
    if (!value) return std::unexpected(value.error());
    if (!spread) {
        if (value->is_list() && !is_list_literal(inner)) {
            return static_error("symbolic.list_in_list", syntax.place, "a list as an element of a list",
                                fmt::format("write {}... to expand it", print(inner)));
        }
        list.push_back(std::move(*value));
        return {};
    }
    std::optional<int64_t> count;
    if (syntax.children.size() > 1) {
        auto wanted = evaluate(*syntax.children[1], scope);
        if (!wanted) return std::unexpected(wanted.error());
        if (!wanted->is_integer())
            return type_error(syntax.place, "the count of a spread is an integer", "an integer", *wanted);
        count = wanted->integer();
    }
    if (value->is_list()) {
        int64_t found = static_cast<int64_t>(value->list().size());
        if (count && *count != found) {
            return static_error(
                "symbolic.length", syntax.place,
                fmt::format("{} elements, where {{{}}} asks for {}", found, print(*syntax.children[1]), *count));
        }
        if (auto spent = spend_list(static_cast<int64_t>(list.size()) + found, syntax.place, state_.budget); !spent)
            return spent;
        list.insert(list.end(), value->list().begin(), value->list().end());
        return {};
    }
    if (!count) {
        if (fill) return static_error("symbolic.fill", syntax.place, "two fills in one list");
        fill = list.size();
        list.push_back(std::move(*value));
        return {};
    }
    if (*count < 0)
        return static_error("symbolic.length", syntax.place, fmt::format("a spread of {} elements", *count));
    if (auto spent = spend_list(static_cast<int64_t>(list.size()) + *count, syntax.place, state_.budget); !spent)
        return spent;
    list.insert(list.end(), static_cast<size_t>(*count), *value);
    return {};
}

Result<Value::List> Evaluator::elements(std::span<const SyntaxPointer> elements, std::optional<int64_t> size,
                                        const StaticScope* scope) {
    Value::List list;
    list.reserve(elements.size());
    std::optional<size_t> fill;
    for (const auto& child : elements) {
        if (auto added = element(*child, scope, list, fill); !added) return std::unexpected(added.error());
    }
    if (!fill) return list;
    const Place& place = elements.empty() ? Place{} : elements[0]->place;
    if (!size) return static_error("symbolic.fill", place, "a fill has no size here", "give it one: 1...{n}");
    int64_t missing = *size - static_cast<int64_t>(list.size()) + 1;
    if (missing < 0) {
        return static_error("symbolic.fill", place,
                            fmt::format("{} elements, where {} are described", list.size() - 1, *size));
    }
    if (auto spent = spend_list(*size, place, state_.budget); !spent) return std::unexpected(spent.error());
    Value filling = list[*fill];
    auto at = list.begin() + static_cast<int64_t>(*fill);
    at = list.erase(at);
    list.insert(at, static_cast<size_t>(missing), filling);
    return list;
}

// ---- is an expression static?

class StaticTest {
public:
    explicit StaticTest(const Environment& environment) : environment_(environment) {}

    bool is_static(const SyntaxPointer& syntax, const StaticScope* scope) {
        return !syntax || is_static(*syntax, scope);
    }
    bool is_static(const Syntax& syntax, const StaticScope* scope) {
        if (++depth_ > deepest_recursion) return false;
        bool result = test(syntax, scope);
        --depth_;
        return result;
    }

private:
    bool test(const Syntax& syntax, const StaticScope* scope) {
        switch (syntax.kind) {
        case Kind::integer:
        case Kind::real:
        case Kind::text:
        case Kind::boolean:
        case Kind::none:
        case Kind::static_name: return true;
        case Kind::name: return StaticScope::find(scope, syntax.text) || dtype_named(syntax.text);
        case Kind::unary:
        case Kind::binary:
        case Kind::conditional:
        case Kind::subscript:
        case Kind::slice:
        case Kind::attribute:
        case Kind::fill:
        case Kind::list:
        case Kind::spread:
        case Kind::named_element: return all(syntax.children, scope);
        case Kind::call: return call(syntax, scope);
        case Kind::comprehension: return generated(syntax, 0, scope);
        default: return false;
        }
    }

    bool all(const std::vector<SyntaxPointer>& children, const StaticScope* scope) {
        return std::all_of(children.begin(), children.end(),
                           [&](const auto& child) { return is_static(child, scope); });
    }

    bool call(const Syntax& syntax, const StaticScope* scope) {
        if (syntax.text == "has") return true;
        if (!syntax.named.empty() || !all(syntax.children, scope)) return false;
        const FunctionTable& functions = *environment_.metakernel().functions;
        auto own = functions.find(syntax.text);
        if (own == functions.end()) return is_static_function(syntax.text);
        if (functions_ >= 8) return false;  // the body builder opens it, and counts
        static const StaticValue some;
        std::vector<StaticScope> scopes(own->second.parameters.size());
        for (size_t i = 0; i < scopes.size(); ++i) {
            scopes[i] = {i == 0 ? nullptr : &scopes[i - 1], own->second.parameters[i], &some};
        }
        ++functions_;
        bool result = is_static(own->second.value, scopes.empty() ? nullptr : &scopes.back());
        --functions_;
        return result;
    }

    bool generated(const Syntax& syntax, size_t generator, const StaticScope* scope) {
        static const StaticValue some;
        if (generator == syntax.generators.size())
            return is_static(syntax.filter, scope) && all(syntax.children, scope);
        if (!is_static(syntax.generators[generator].range, scope)) return false;
        StaticScope inner{scope, syntax.generators[generator].name, &some};
        return generated(syntax, generator + 1, &inner);
    }

    const Environment& environment_;
    int32_t depth_ = 0;
    int32_t functions_ = 0;
};

}  // namespace

Result<StaticValue> Environment::evaluate(const Syntax& expression, const StaticScope* scope) {
    return Evaluator(*this).evaluate(expression, scope);
}

Result<std::vector<StaticValue>> Environment::evaluate_elements(std::span<const SyntaxPointer> elements,
                                                                std::optional<int64_t> size, const StaticScope* scope) {
    auto before = state_->fill_size;
    state_->fill_size = size;
    auto result = Evaluator(*this).elements(elements, size, scope);
    state_->fill_size = before;
    return result;
}

bool Environment::is_static(const Syntax& expression, const StaticScope* scope) const {
    return StaticTest(*this).is_static(expression, scope);
}

}  // namespace heddle
