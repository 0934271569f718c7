#include "gradient/scalar_rules.h"

#include <algorithm>
#include <array>
#include <numbers>

namespace heddle::gradient {
namespace {

// A value of a float type, so that rules read as they are written in books.
struct Value {
    BodyNodes* nodes = nullptr;
    NodeId id = -1;

    Value made(ScalarOp op, NodeList operands) const { return {nodes, nodes->scalar(op, std::move(operands))}; }
    Value literal(double number) const { return {nodes, nodes->real(number, nodes->node(id).dtype, true)}; }
    std::optional<double> number() const {
        const Node& node = nodes->node(id);
        return node.kind == Node::Kind::real ? std::optional(node.real) : std::nullopt;
    }
};

Value operator+(Value a, Value b) { return a.made(ScalarOp::add, {a.id, b.id}); }
Value operator-(Value a, Value b) { return a.made(ScalarOp::subtract, {a.id, b.id}); }
Value operator*(Value a, Value b) { return a.made(ScalarOp::multiply, {a.id, b.id}); }
Value operator/(Value a, Value b) { return a.made(ScalarOp::divide, {a.id, b.id}); }
Value operator-(Value a) { return a.made(ScalarOp::negate, {a.id}); }
Value operator+(Value a, double b) { return a + a.literal(b); }
Value operator*(Value a, double b) { return a * a.literal(b); }
Value operator-(double a, Value b) { return b.literal(a) - b; }
Value call(ScalarOp op, Value a) { return a.made(op, {a.id}); }
Value raised(Value a, Value b) { return a.made(ScalarOp::power, {a.id, b.id}); }
Value where(ScalarOp comparison, Value a, double b, Value then) {
    NodeId holds = a.nodes->scalar(comparison, {a.id, a.literal(b).id});
    return {a.nodes, a.nodes->select(holds, then.id, then.literal(0).id)};
}

// g b a^(b - 1); 0 where b is 0, also at a = 0.
Value power_of_base(Value a, Value b, Value, Value g) {
    if (auto exponent = b.number()) {
        if (*exponent == 1) return g;
        return g * (*exponent == 2 ? a * 2.0 : b * raised(a, b.literal(*exponent - 1)));
    }
    return where(ScalarOp::not_equal, b, 0, g * b * raised(a, b + -1.0));
}

// a: the first operand, b: the second, y: the result, g: its adjoint.
using Rule = Value (*)(Value a, Value b, Value y, Value g);

struct ScalarRule {
    ScalarOp op;
    Rule first;
    Rule second = nullptr;
    // Where set, the first operand gets its share where `first CONDITION second` holds, and the second elsewhere.
    std::optional<ScalarOp> condition = {};
};

using enum ScalarOp;

constexpr Rule whole = [](Value, Value, Value, Value g) { return g; };
constexpr Rule negative = [](Value, Value, Value, Value g) { return -g; };

#define HEDDLE_RULE(expression)              \
    [](Value a, Value b, Value y, Value g) { \
        (void)a, (void)b, (void)y;           \
        return expression;                   \
    }
constexpr std::array rules = {
    ScalarRule{add, whole, whole},
    ScalarRule{subtract, whole, negative},
    ScalarRule{multiply, HEDDLE_RULE(g* b), HEDDLE_RULE(g* a)},
    ScalarRule{divide, HEDDLE_RULE(g / b), HEDDLE_RULE(-(g* y / b))},
    ScalarRule{modulo, whole, HEDDLE_RULE(-(g* call(floor, a / b)))},
    ScalarRule{truncate_remainder, whole, HEDDLE_RULE(-(g* call(truncate, a / b)))},
    ScalarRule{minimum, whole, whole, less_equal},
    ScalarRule{maximum, whole, whole, greater_equal},
    ScalarRule{power, power_of_base, HEDDLE_RULE(where(greater, a, 0, g* y* call(log, a)))},
    ScalarRule{atan2, HEDDLE_RULE(g* b / (a * a + b * b)), HEDDLE_RULE(-(g* a / (a * a + b * b)))},
    ScalarRule{negate, negative},
    ScalarRule{absolute, HEDDLE_RULE(g* call(sign, a))},
    ScalarRule{sqrt, HEDDLE_RULE(g * 0.5 / y)},
    ScalarRule{rsqrt, HEDDLE_RULE(g * -0.5 * y / a)},
    ScalarRule{reciprocal, HEDDLE_RULE(-(g* y* y))},
    ScalarRule{exp, HEDDLE_RULE(g* y)},
    ScalarRule{exp2, HEDDLE_RULE(g* y* std::numbers::ln2)},
    ScalarRule{expm1, HEDDLE_RULE(g*(y + 1.0))},
    ScalarRule{log, HEDDLE_RULE(g / a)},
    ScalarRule{log2, HEDDLE_RULE(g* std::numbers::log2e / a)},
    ScalarRule{log1p, HEDDLE_RULE(g / (a + 1.0))},
    ScalarRule{sin, HEDDLE_RULE(g* call(cos, a))},
    ScalarRule{cos, HEDDLE_RULE(-(g* call(sin, a)))},
    ScalarRule{tan, HEDDLE_RULE(g*(y* y + 1.0))},
    ScalarRule{asin, HEDDLE_RULE(g* call(rsqrt, 1.0 - a * a))},
    ScalarRule{acos, HEDDLE_RULE(-(g* call(rsqrt, 1.0 - a * a)))},
    ScalarRule{atan, HEDDLE_RULE(g / (a * a + 1.0))},
    ScalarRule{sinh, HEDDLE_RULE(g* call(cosh, a))},
    ScalarRule{cosh, HEDDLE_RULE(g* call(sinh, a))},
    ScalarRule{tanh, HEDDLE_RULE(g * (1.0 - y * y))},
    ScalarRule{asinh, HEDDLE_RULE(g* call(rsqrt, a* a + 1.0))},
    ScalarRule{acosh, HEDDLE_RULE(g* call(rsqrt, a* a + -1.0))},
    ScalarRule{atanh, HEDDLE_RULE(g / (1.0 - a * a))},
    ScalarRule{erf, HEDDLE_RULE(g*(call(exp, -(a* a)) * (2 * std::numbers::inv_sqrtpi)))},
    ScalarRule{sigmoid, HEDDLE_RULE(g*(y * (1.0 - y)))},
};
#undef HEDDLE_RULE

const ScalarRule* rule_of(ScalarOp op) {
    auto found = std::ranges::find(rules, op, &ScalarRule::op);
    return found == rules.end() ? nullptr : &*found;
}

}  // namespace

bool has_derivative(ScalarOp op) { return rule_of(op) != nullptr; }

Share share_of(BodyNodes& nodes, NodeId id, size_t operand, NodeId adjoint) {
    const ScalarRule& rule = *rule_of(nodes.node(id).op);
    const NodeList operands = nodes.node(id).operands;
    Value a{&nodes, operands[0]}, b{&nodes, operands.size() > 1 ? operands[1] : -1};
    Share share{.value = (operand == 0 ? rule.first : rule.second)(a, b, {&nodes, id}, {&nodes, adjoint}).id};
    if (rule.condition) {
        share.condition = nodes.scalar(*rule.condition, operands);
        if (operand == 1) share.condition = nodes.scalar(ScalarOp::logical_not, {share.condition});
    }
    return share;
}

}  // namespace heddle::gradient
