#include "schedules/folding.h"

#include <utility>

#include "zspace/checked.h"

namespace heddle::schedules {
namespace {

// Data's literals are launch numbers: nothing is decided by them.
bool is_number(Expr e) { return e->kind == Kind::integer && !is_bool(e->dtype) && e->from_template; }

// (d t + r) // d = t + r // d and (d t + r) % d = r % d, if r is a constant; else null.
Expr folded_division(Arena& arena, Expr e, Expr dividend) {
    const Size& divisor = e->integer;
    if (divisor < 1) return nullptr;
    const auto form = linear_form(dividend);
    Expr quotient = arena.integer(floor_divide(form.constant, divisor));
    for (const auto& [atom, factor] : form.terms) {
        if (!divides(divisor, factor)) return nullptr;
        quotient = arena.add(quotient, atom, floor_divide(factor, divisor));
    }
    if (e->kind == Kind::floor_divide) return quotient;
    return arena.integer(floor_modulo(form.constant, divisor));
}

// The lesser of two that a constant is between; else null.
Expr folded_extreme(Arena& arena, Expr e, Expr a, Expr b) {
    for (Expr operand : {a, b}) {
        if (operand->kind == Kind::integer && !is_number(operand)) return nullptr;
    }
    Expr difference = arena.add(a, b, -1);
    if (!is_number(difference)) return nullptr;
    return (difference->integer < 0) == (e->kind == Kind::minimum) ? a : b;
}

// a < b || a == b is a <= b, a > b || a == b is a >= b, also of NaN: nothing of it holds then. Else null.
Expr folded_comparisons(Arena& arena, Expr strict, Expr equal) {
    if (strict->kind == Kind::scalar && strict->op == ScalarOp::equal) std::swap(strict, equal);
    if (strict->kind != Kind::scalar || equal->kind != Kind::scalar || equal->op != ScalarOp::equal) return nullptr;
    const bool less = strict->op == ScalarOp::less;
    if (!less && strict->op != ScalarOp::greater) return nullptr;
    const auto a = operands_of(strict), b = operands_of(equal);
    if (a != b && (a[0] != b[1] || a[1] != b[0])) return nullptr;
    return arena.scalar(less ? ScalarOp::less_equal : ScalarOp::greater_equal, DType::boolean, a);
}

}  // namespace

std::optional<bool> truth_of(Expr e) {
    if (e->kind != Kind::integer || !is_bool(e->dtype)) return std::nullopt;
    return e->integer != 0;
}

bool is_logic(Expr e) {
    if (e->kind == Kind::conjunction) return true;
    return e->kind == Kind::scalar &&
           (e->op == ScalarOp::logical_not || e->op == ScalarOp::logical_and || e->op == ScalarOp::logical_or);
}

Expr folded_logic(Arena& arena, Expr e, const std::vector<Expr>& operands) {
    const auto a = truth_of(operands[0]);
    if (e->kind == Kind::scalar && e->op == ScalarOp::logical_not)
        return a ? arena.truth(!*a) : arena.copy(e, operands);
    const auto b = truth_of(operands[1]);
    const bool conjunction = e->kind == Kind::conjunction || e->op == ScalarOp::logical_and;
    if (a && b) return arena.truth(conjunction ? *a && *b : *a || *b);
    if (a) return *a == conjunction ? operands[1] : operands[0];
    if (b) return *b == conjunction ? operands[0] : operands[1];
    Expr found = conjunction ? nullptr : folded_comparisons(arena, operands[0], operands[1]);
    return found ? found : arena.copy(e, operands);
}

Expr folded_choice(Arena& arena, Expr e, std::vector<Expr> operands) {
    const auto condition = truth_of(operands[0]), then = truth_of(operands[1]), otherwise = truth_of(operands[2]);
    if (condition) return operands[*condition ? 1 : 2];
    if (operands[1] == operands[2]) return operands[1];
    if (then == true && otherwise == false) return operands[0];
    Expr found = then == true ? folded_comparisons(arena, operands[0], operands[2]) : nullptr;
    return found ? found : arena.rebuild(e, std::move(operands));
}

Expr folded(Arena& arena, Expr e, std::vector<Expr> operands) {
    Expr found = nullptr;
    switch (e->kind) {
    case Kind::floor_divide:
    case Kind::modulo: found = folded_division(arena, e, operands[0]); break;
    case Kind::minimum:
    case Kind::maximum: found = folded_extreme(arena, e, operands[0], operands[1]); break;
    case Kind::negative:
        if (is_number(operands[0])) found = arena.truth(operands[0]->integer < 0);
        break;
    case Kind::inside:
        if (is_number(operands[0])) found = arena.truth(operands[0]->integer >= 0 && operands[0]->integer < e->integer);
        break;
    case Kind::select: return folded_choice(arena, e, std::move(operands));
    default:
        if (is_logic(e)) found = folded_logic(arena, e, operands);
    }
    return found ? found : arena.copy(e, std::move(operands));
}

}  // namespace heddle::schedules
