// Reductions of a body: over variables, or written out where the variable picks a tensor or an element of a list.
#include <fmt/format.h>

#include <algorithm>

#include "language/parser.h"
#include "symbolic/body_expression.h"
#include "symbolic/environment_state.h"

namespace heddle {
namespace {

constexpr int64_t longest_unrolled = 2'048;  // terms

bool mentions(const SyntaxPointer& syntax, const std::string& name) {
    bool found = false;
    visit_all(syntax,
              [&](const Syntax& node) { found = found || (node.kind == Syntax::Kind::name && node.text == name); });
    return found;
}

}  // namespace

void BodyExpressions::bind(const std::string& name, const Syntax& range, const Place& place, Variable::Kind kind,
                           Scope& scope, VariableList& variables) {
    need_new_name(name, scope, place);
    Value extent = evaluate(range, scope);
    auto add = [&](const Size& size, const std::string& variable) {
        if (size < 0) {
            Diagnostic diagnostic = elements_.error("symbolic.extent", range.place,
                                                    fmt::format("the extent of '{}' is {}", name, size.value()));
            diagnostic.expected = "0 or more";
            diagnostic.remedy =
                "pass larger tensors; in the template, a condition under `require` can say so first";
            elements_.refuse(std::move(diagnostic));
        }
        variables.push_back(nodes_.add_variable(variable, kind, size));
        return variable_value(variables.back());
    };
    if (extent.is_integer()) {
        scope.names.set(name, add(extent.size(), name));
        return;
    }
    auto sizes = extent.is_static() ? extent.sizes() : std::nullopt;
    if (!sizes) {
        Diagnostic diagnostic = elements_.error("symbolic.static_extent", range.place,
                                                fmt::format("the extent of '{}' is not static", name));
        diagnostic.expected = "a static integer, or a static list of integers";
        diagnostic.reason = "a shape cannot depend on coordinates or on data";
        diagnostic.remedy =
            fmt::format("give a static bound and keep terms with a filter: ({} < bound if {} < ... : ...)", name, name);
        elements_.refuse(std::move(diagnostic));
    }
    std::vector<Value> coordinates;
    coordinates.reserve(sizes->size());
    for (size_t i = 0; i < sizes->size(); ++i) coordinates.push_back(add((*sizes)[i], name + std::to_string(i)));
    scope.names.set(name, Value::of(std::move(coordinates)));
}

namespace {

bool is_static_base(const Syntax& base) {
    return base.kind == Syntax::Kind::static_name || base.kind == Syntax::Kind::attribute;
}

// A variadic input, or what may be a list.
bool may_be_picked_from(const Environment& environment, const Syntax& base) {
    if (base.kind != Syntax::Kind::name) return is_static_base(base);
    int32_t position = environment.input_position(base.text);
    return position >= 0 && environment.inputs()[static_cast<size_t>(position)].spec->variadic;
}

}  // namespace

// The base[... name ...] of this node is a tensor of a variadic input, or something of a list that is not a number.
bool BodyExpressions::picks(const Syntax& subscript, const std::string& name) {
    const Syntax& base = *subscript.children[0];
    if (!may_be_picked_from(environment_, base)) return false;
    bool by_variable = std::any_of(subscript.children.begin() + 1, subscript.children.end(),
                                   [&](const SyntaxPointer& child) { return mentions(child, name); });
    if (!is_static_base(base) || !by_variable) return by_variable;
    auto value = environment_.evaluate(base);
    if (!value || !value->is_list()) return false;
    const auto& list = value->list();
    return !std::all_of(list.begin(), list.end(), [](const StaticValue& item) { return item.is_number(); });
}

// Whether some subscript below may pick: mostly none does, which one search of each reduction says for all its uses.
bool BodyExpressions::may_pick(const Syntax& reduction) {
    auto& known = environment_.state().may_pick;
    auto found = std::ranges::find(known, &reduction, &std::pair<const Syntax*, bool>::first);
    if (found != known.end()) return found->second;
    bool may = false;
    auto look = [&](const Syntax& below) {
        may = may || (below.kind == Syntax::Kind::subscript && may_be_picked_from(environment_, *below.children[0]));
    };
    visit_all(reduction.children[0], look);
    visit_all(reduction.filter, look);
    known.emplace_back(&reduction, may);
    return may;
}

// True if the variable picks something below this expression.
bool BodyExpressions::must_unroll(const Syntax& syntax, const std::string& name) {
    if (syntax.kind == Syntax::Kind::subscript && picks(syntax, name)) return true;
    auto below = [&](const SyntaxPointer& child) { return child && must_unroll(*child, name); };
    return std::any_of(syntax.children.begin(), syntax.children.end(), below) || below(syntax.filter) ||
           std::any_of(syntax.generators.begin(), syntax.generators.end(),
                       [&](const Generator& generator) {
                           return below(generator.range) || below(generator.first) || below(generator.end);
                       }) ||
           std::any_of(syntax.named.begin(), syntax.named.end(),
                       [&](const NamedArgument& argument) { return below(argument.value); });
}

Value BodyExpressions::reduction(const Syntax& syntax, const Scope& scope) {
    if (is_order(syntax))
        operations().refuse_type(syntax.place, "an order in an expression", "the whole value of a local array",
                                 "name it, and read at the name: let at[r < k] = order(...)");
    if (!is_reduction_name(syntax.text))
        return own_reduction(syntax, environment_.metakernel().functions->at(syntax.text), scope);
    Generators unrolled, reduced_over;
    for (const Generator& generator : syntax.generators) {
        if (generator.kind != Generator::Kind::below)
            operations().refuse_type(generator.place, "a reduction variable is written name < extent", "name < extent",
                                     "");
        bool picks = may_pick(syntax) && (must_unroll(*syntax.children[0], generator.name) ||
                                          (syntax.filter && must_unroll(*syntax.filter, generator.name)));
        if (picks && generator.is_part())
            operations().refuse_type(generator.place, "a part of a list of tensors", "all of the list",
                                     "keep terms with a filter: if ...");
        (picks ? unrolled : reduced_over).push_back(&generator);
    }
    Size count = 1;
    if (unrolled.empty()) return reduced(syntax, reduced_over, syntax.text, scope, count);
    if (syntax.text == "argmin" || syntax.text == "argmax" || syntax.text == "first")
        operations().refuse_type(syntax.place, fmt::format("{} over a list of tensors", syntax.text),
                                 "sum, prod, min, max, any, all, mean or count", "stack the tensors first");
    std::vector<Value> terms;
    Size total = 0;
    unroll(syntax, unrolled, 0, scope, terms, total);
    std::string reducer = syntax.text == "mean" || syntax.text == "count" ? "sum" : syntax.text;
    Value result = operations().joined(reducer, terms, syntax.place);
    return syntax.text == "mean" ? mean(result, total, syntax.place) : result;
}

void BodyExpressions::unroll(const Syntax& syntax, const Generators& unrolled, size_t generator, const Scope& scope,
                             std::vector<Value>& terms, Size& count) {
    if (generator == unrolled.size()) {
        Generators rest;
        for (const Generator& other : syntax.generators) {
            bool done = std::any_of(unrolled.begin(), unrolled.end(),
                                    [&](const Generator* g) { return g->name == other.name; });
            if (!done) rest.push_back(&other);
        }
        Size inner = 1;
        std::string reducer = syntax.text == "mean" ? "sum" : syntax.text;
        terms.push_back(reduced(syntax, rest, reducer, scope, inner));
        count += inner;
        return;
    }
    const Generator& from = *unrolled[generator];
    need_new_name(from.name, scope, from.place);
    int64_t extent = operations().integer(evaluate(*from.range, scope), "the number of terms", from.range->place);
    if (extent > longest_unrolled) {
        Diagnostic diagnostic =
            elements_.error("symbolic.limit", from.place, fmt::format("a reduction of {} tensors", extent));
        diagnostic.expected = fmt::format("at most {}", longest_unrolled);
        elements_.refuse(std::move(diagnostic));
    }
    for (int64_t i = 0; i < extent; ++i) {
        Scope inner{&scope, {}};
        inner.names.set(from.name, Value::of(i).with_from_template(false));
        unroll(syntax, unrolled, generator + 1, inner, terms, count);
    }
}

// A term that counts only where the filter holds.
Value BodyExpressions::filtered(const std::string& reducer, const Value& filter, const Value& term,
                                const Place& place) {
    if (filter.is_boolean() && filter.boolean()) return term;
    Element value = operations().element(term, place);
    auto named_reducer = reducer_named(reducer);
    return operations().select(filter, Value::of(value), Value::of(elements_.neutral(*named_reducer, value)), place);
}

Value BodyExpressions::mean(const Value& sum, const Size& count, const Place& place) {
    const NodeId number = count.named() ? nodes_.sized_integer(count, DType::float64, false)
                                        : nodes_.real(static_cast<double>(count.number()), DType::float64, false);
    return mean(sum, Element{number, Element::Weak::real}, place);
}

Value BodyExpressions::mean(const Value& sum, Element count, const Place& place) {
    Element total = operations().element(sum, place);
    if (!is_float(elements_.dtype(total)) && !is_complex(elements_.dtype(total))) {
        Diagnostic diagnostic =
            elements_.error("symbolic.dtype", place, fmt::format("mean of {}", elements_.type_name(total)));
        diagnostic.expected = "a float";
        diagnostic.found = elements_.type_name(total);
        diagnostic.remedy = "write a cast, as in mean(... : float32(...))";
        elements_.refuse(std::move(diagnostic));
    }
    return Value::of(elements_.binary(ScalarOp::divide, total, count, place));
}

void BodyExpressions::need_reducible(const std::string& reducer, Element operand, const Place& place) {
    if (is_complex(elements_.dtype(operand)) && reducer != "sum" && reducer != "mean")
        elements_.refuse_complex(fmt::format("{} of", reducer), place);
    bool wants_bool = reducer == "any" || reducer == "all" || reducer == "count" || reducer == "first";
    if (is_bool(elements_.dtype(operand)) == wants_bool) return;
    Diagnostic diagnostic =
        elements_.error("symbolic.dtype", place, fmt::format("{} of {}", reducer, elements_.type_name(operand)));
    diagnostic.expected = wants_bool ? "bool" : "a number";
    diagnostic.found = elements_.type_name(operand);
    diagnostic.remedy = wants_bool ? "write a comparison" : "use any, all or count, or write a cast";
    elements_.refuse(std::move(diagnostic));
}

// `k < n from first to end` keeps the terms from first on and below end.
Value BodyExpressions::within_parts(const Generators& generators, const Scope& scope) {
    Value within = Value::of(true);
    auto add = [&](const Generator& generator, const SyntaxPointer& limit, ScalarOp comparison) {
        if (!limit) return;
        const Value* variable = scope.find(generator.name);
        if (variable->is_list())
            operations().refuse_type(generator.place, "a part of the range of several variables", "one variable",
                                     "keep terms with a filter: if all(...)");
        const Value value =
            Value::of(Element{coordinate(evaluate(*limit, scope), limit->place), Element::Weak::integer});
        const Value holds = operations().binary(comparison, *variable, value, limit->place);
        // Both ends have a value at each point, whatever the other one says.
        const NodeId node = operations().element(holds, limit->place).node;
        const NodeId both =
            within.is_boolean()
                ? node
                : nodes_.scalar(ScalarOp::logical_and, {operations().element(within, limit->place).node, node});
        within = Value::of(Element{both, Element::Weak::no});
    };
    for (const Generator* generator : generators) {
        add(*generator, generator->first, ScalarOp::greater_equal);
        add(*generator, generator->end, ScalarOp::less);
    }
    return within;
}

// Whether a term counts: by its parts of the ranges, and by the condition that is written.
Value BodyExpressions::filter_of(const Syntax& syntax, const Generators& generators, const Scope& scope) {
    const Value within = within_parts(generators, scope);
    if (!syntax.filter) return within;
    const Place& place = syntax.filter->place;
    const Value asked = evaluate(*syntax.filter, scope);
    if (asked.is_list())
        operations().refuse_type(place, "a list is never a condition", "one bool", "write all(...) or any(...)");
    const Value filter = operations().binary(ScalarOp::logical_and, within, asked, place);
    if (!filter.is_boolean()) need_reducible("any", operations().element(filter, place), place);
    return filter;
}

// The least row-major number of the variables where the condition holds; -1, which is no place, where it holds nowhere.
Value BodyExpressions::first_place(const VariableList& variables, const Value& condition, const Place& place) {
    Operations& numbers = operations();
    Value number = Value::of(int64_t{0});
    for (VariableId id : variables) {
        number = numbers.binary(ScalarOp::multiply, number, Value::of(body_.variable(id).extent), place);
        number = numbers.binary(ScalarOp::add, number, variable_value(id), place);
    }
    const Value nowhere = Value::of(int64_t{-1});
    if (variables.empty()) return numbers.select(condition, number, nowhere, place);
    const NodeId least = nodes_.reduce(Reducer::minimum, DType::int64, variables, numbers.element(number, place).node,
                                       numbers.element(condition, place).node);
    const Element found{least, Element::Weak::integer};
    const Element none = elements_.neutral(Reducer::minimum, found);
    return numbers.select(numbers.binary(ScalarOp::equal, Value::of(found), Value::of(none), place), nowhere,
                          Value::of(found), place);
}

Value BodyExpressions::reduced(const Syntax& syntax, const Generators& generators, const std::string& reducer,
                               const Scope& scope, Size& count) {
    Scope inner{&scope, {}};
    VariableList variables;
    for (const Generator* generator : generators) bind(*generator, Variable::Kind::reduction, inner, variables);
    for (VariableId id : variables) {
        const auto product = checked_multiply(count, body_.variable(id).extent);
        count = product.value_or(0);
        if (!product) {
            Diagnostic diagnostic =
                elements_.error("symbolic.overflow", syntax.place, "a reduction has more than 2^63 terms");
            elements_.refuse(std::move(diagnostic));
        }
    }
    Value filter = filter_of(syntax, generators, inner);
    Element term = operations().element(evaluate(*syntax.children[0], inner), syntax.children[0]->place);
    need_reducible(reducer, term, syntax.children[0]->place);
    if (reducer == "count") {
        filter = operations().binary(ScalarOp::logical_and, filter, Value::of(term), syntax.place);
        term = elements_.weak_integer(1, true);
    }
    if (reducer == "first") {
        filter = operations().binary(ScalarOp::logical_and, filter, Value::of(term), syntax.place);
        return first_place(variables, filter, syntax.place);
    }
    std::string plain = reducer == "mean" || reducer == "count" ? "sum" : reducer;
    Reducer combiner = *reducer_named(plain);
    if (variables.empty()) {
        // One term: itself, or nothing.
        const Element own = is_argument(combiner) ? elements_.weak_integer(0, true) : term;
        Value only = filtered(plain, filter, Value::of(own), syntax.place);
        if (reducer != "mean") return only;
        if (filter.is_boolean()) return mean(only, filter.boolean() ? 1 : 0, syntax.place);
        const Value one = Value::of(elements_.weak_integer(1, true));
        const Value kept = filtered("sum", filter, one, syntax.place);
        return mean(only, operations().element(kept, syntax.place), syntax.place);
    }
    bool unfiltered = filter.is_boolean() && filter.boolean();
    NodeId keep = unfiltered ? NodeId{-1} : operations().element(filter, syntax.place).node;
    DType type = is_argument(combiner) ? DType::int64 : elements_.dtype(term);
    NodeId node = nodes_.reduce(combiner, type, variables, term.node, keep);
    if (is_argument(combiner) && count == 0) empty_arguments_.emplace_back(node, &syntax);
    Element result{node, is_argument(combiner) ? Element::Weak::integer : term.weak};
    if (reducer == "mean") {
        if (unfiltered) return mean(Value::of(result), count, syntax.place);
        const NodeId one = nodes_.integer(1, DType::int64, true);
        const Element kept{nodes_.reduce(Reducer::sum, DType::int64, variables, one, keep), Element::Weak::integer};
        return mean(Value::of(result), kept, syntax.place);
    }
    return Value::of(result);
}

}  // namespace heddle
