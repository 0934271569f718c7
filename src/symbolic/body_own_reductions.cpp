// Reductions by a function of the file's own, f(k < n : term) with f(a, b) = ... from neutral: a scan whose state
// begins with what changes nothing, and takes in one term a step, in order.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "symbolic/body_expression.h"
#include "symbolic/projection_range.h"

namespace heddle {
namespace {

constexpr int trials = 16;

// A random value of the kind that the elements have.
Value random_value(std::mt19937& random, DType dtype) {
    if (is_bool(dtype)) return Value::of(random() % 2 == 0);
    if (is_integer(dtype)) return Value::of(static_cast<int64_t>(random() % 16));
    return Value::of(static_cast<double>(random() % 4096) / 1024 - 2);
}

// A literal of a body, `uint32(0)`, as the number that it is; others are left alone.
Value number_of(const Value& value, const Body& body) {
    if (!value.is_element()) return value;
    const Node& node = body.node(value.element().node);
    if (node.kind == Node::Kind::integer)
        return is_bool(node.dtype) ? Value::of(node.integer != 0) : Value::of(node.integer);
    return node.kind == Node::Kind::real ? Value::of(node.real) : value;
}

bool near(const Value& a, const Value& b) {
    if (!a.is_number() || !b.is_number()) return a == b;
    const double x = a.number(), y = b.number();
    return x == y || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= 1e-9 * (1 + std::fabs(x));
}

}  // namespace

// The function on static values: what changes nothing does not, and the order in which terms are joined does not
// matter. What has no static values, complex numbers say, is believed.
void BodyExpressions::need_reducer(const Syntax& syntax, const FunctionLet& function, DType dtype) {
    if (is_complex(dtype)) return;
    std::mt19937 random(1);
    auto join = [&](const Value& a, const Value& b) { return user_function(syntax, function, {a, b}); };
    auto refuse_values = [&](const Value& found, const Value& expected, std::string summary) {
        Diagnostic diagnostic = elements_.error("symbolic.reducer", function.place, std::move(summary));
        diagnostic.expected = expected.print();
        diagnostic.found = found.print();
        diagnostic.reason = "terms may be joined in parts";
        diagnostic.remedy = "write the steps as a scan, if their order matters";
        diagnostic.contexts.push_back({"it joins terms here", syntax.place});
        elements_.refuse(std::move(diagnostic));
    };
    const Value neutral = number_of(evaluate(*function.neutral, {}), body_);
    if (neutral.is_element()) return;
    for (int trial = 0; trial < trials; ++trial) {
        const Value a = random_value(random, dtype), b = random_value(random, dtype), c = random_value(random, dtype);
        for (const Value& same : {join(neutral, a), join(a, neutral)})
            if (!near(same, a))
                refuse_values(same, a,
                              fmt::format("{} changes {}, joined by {}", neutral.print(), a.print(), function.name));
        const Value left = join(join(a, b), c), right = join(a, join(b, c));
        if (!near(left, right))
            refuse_values(left, right,
                          fmt::format("{0}({0}({1}, {2}), {3}) is not {0}({1}, {0}({2}, {3}))", function.name,
                                      a.print(), b.print(), c.print()));
    }
}

// The variables that the nodes depend on, the step apart: the state has a value for each of their points.
VariableList BodyExpressions::points_of(const Syntax& syntax, VariableId step, std::initializer_list<NodeId> nodes) {
    VariableList points;
    for (NodeId node : nodes) {
        for (VariableId id : variables_of(body_, node)) {
            const Variable::Kind kind = body_.variable(id).kind;
            if (id == step || std::ranges::find(points, id) != points.end()) continue;
            if (kind == Variable::Kind::reduction || kind == Variable::Kind::ordered) {
                Diagnostic diagnostic = elements_.error(
                    "symbolic.reducer", syntax.place,
                    fmt::format("terms of {} that depend on '{}'", syntax.text, body_.variable(id).name));
                diagnostic.reason = kind == Variable::Kind::ordered
                                        ? "terms are joined in steps, and a scan stands in no other"
                                        : "terms are joined in steps, which stand in no reduction";
                diagnostic.remedy = "give the other variable to a local array: let part[j < n] = ...";
                elements_.refuse(std::move(diagnostic));
            }
            points.push_back(id);
        }
    }
    std::ranges::sort(points);
    return points;
}

Value BodyExpressions::own_reduction(const Syntax& syntax, const FunctionLet& function, const Scope& scope) {
    Scope inner{&scope, {}};
    VariableList steps;
    for (const Generator& generator : syntax.generators) bind(generator, Variable::Kind::ordered, inner, steps);
    if (steps.size() != 1)
        operations().refuse_type(syntax.place, fmt::format("{} over several variables", syntax.text), "one variable",
                                 "count the terms by one variable, and take it apart with // and %");
    const Value filter = filter_of(syntax, Generators{&syntax.generators[0]}, inner);
    Element term = operations().element(evaluate(*syntax.children[0], inner), syntax.children[0]->place);
    Element initial = operations().element(evaluate(*function.neutral, {}), function.neutral->place);
    const DType dtype = elements_.unify(term, initial, "from", function.neutral->place);
    need_reducer(syntax, function, dtype);

    const bool all = filter.is_boolean() && filter.boolean();
    const NodeId keep = all ? term.node : operations().element(filter, syntax.place).node;
    BodyState state{.name = function.name,
                    .local = {},
                    .step = steps[0],
                    .outer = points_of(syntax, steps[0], {term.node, keep}),
                    .own = {},
                    .own_names = {},
                    .type = StateType{dtype, term.weak}};
    const NodeId end = nodes_.sized_integer(body_.variable(steps[0]).extent, DType::int64, false);
    NodeList here, last{end};
    for (VariableId id : state.outer) {
        here.push_back(nodes_.variable(id));
        last.push_back(nodes_.variable(id));
    }
    const LocalId local = states_[add_state(std::move(state))].local;
    const Element before{nodes_.previous(local, dtype, std::move(here)), term.weak};
    Element joined = operations().element(user_function(syntax, function, {Value::of(before), Value::of(term)}),
                                          function.value->place);
    if (!all)
        joined = operations().element(operations().select(filter, Value::of(joined), Value::of(before), syntax.place),
                                      syntax.place);
    if (elements_.dtype(joined) != dtype) {
        Diagnostic diagnostic = elements_.error(
            "symbolic.dtype", function.place,
            fmt::format("{} of two {} gives {}", function.name, name(dtype), name(elements_.dtype(joined))));
        diagnostic.remedy = fmt::format("write a cast, as in {}(...)", name(dtype));
        elements_.refuse(std::move(diagnostic));
    }
    body_.locals[local].value = joined.node;
    body_.locals[local].initial = initial.node;
    return Value::of(Element{nodes_.local(local, dtype, std::move(last)), term.weak});
}

}  // namespace heddle
