#include "schedules/tree_values.h"

#include <algorithm>

#include "expr/scalar_interval.h"

namespace heddle::schedules {

TreeValues::TreeValues(const Tree& tree, const std::vector<Size>& numbers, Premises& premises)
    : tree_(tree), premises_(premises) {
    // Before anything is known of a point: what a size is made of is kept for good.
    for (size_t i = 0; i < numbers.size(); i++)
        numbers_.push_back(is_integer(tree.numbers[i].dtype) ? premises.of(numbers[i]) : Polynomial());
}

Polynomial TreeValues::of(const Number& number) const {
    return number.launch ? numbers_[static_cast<size_t>(number.value)] : Polynomial(number.value);
}

Polynomial TreeValues::of(const Affine& affine) {
    Polynomial sum = of(affine.constant);
    for (const Term& term : affine.terms) sum = sum + of(term);
    for (const auto& [value, factor] : affine.values) sum = sum + of(value) * of(factor);
    return sum;
}

Polynomial TreeValues::of(ExpressionId id) {
    if (const auto known = values_.find(id); known != values_.end()) return known->second;
    Polynomial value = made(tree_.expression(id));
    return values_[id] = std::move(value);
}

void TreeValues::define(LetId let) {
    const ExpressionId value = tree_.let(let).value;
    values_.clear();
    if (is_integer(tree_.expression(value).dtype)) lets_[let] = of(value);
    values_.clear();
}

Polynomial TreeValues::made(const Expression& e) {
    using enum Expression::Kind;
    switch (e.kind) {
    case integer: return e.integer;
    case number: return is_integer(e.dtype) ? fitting(of(e.number), e.dtype) : unknown(e.dtype);
    case index: return fitting(of(e.affine), e.dtype);
    case scalar: return computed(e);
    case cast: return is_integer(tree_.expression(e.operands[0]).dtype) ? fitting(of(e.operands[0]), e.dtype) : unknown(e.dtype);
    case select: return premises_.either(condition(e.operands[0]), of(e.operands[1]), of(e.operands[2]));
    case check: return checked(e);
    case let: {
        const auto known = lets_.find(e.let_id());
        return known == lets_.end() ? unknown(e.dtype) : known->second;
    }
    default: return unknown(e.dtype);
    }
}

// Data: of a narrow type between its ends.
Polynomial TreeValues::unknown(DType dtype) {
    const Polynomial value = Polynomial::of_atom(premises_.atom("data"));
    const Interval ends = interval_of(dtype);
    if (ends.known_low()) premises_.add(value - ends.low.number());
    if (ends.known_high()) premises_.add(Polynomial(ends.high.number()) - value);
    return value;
}

// Sizes are far from where 64 bits wrap (plan.h); of narrower types what may wrap is anything.
Polynomial TreeValues::fitting(Polynomial value, DType dtype) {
    const Interval ends = interval_of(dtype);
    if (dtype == DType::int64) return value;
    const bool fits = ends.known_low() && ends.known_high() && premises_.proves(value - ends.low.number()) &&
                      premises_.proves(Polynomial(ends.high.number()) - value);
    return fits ? value : unknown(dtype);
}

Polynomial TreeValues::computed(const Expression& e) {
    const auto operand = [&](size_t i) { return of(e.operands[i]); };
    const auto is_known = [&](ExpressionId id) { return is_integer(tree_.expression(id).dtype); };
    if (!is_integer(e.dtype) || !std::ranges::all_of(e.operands, is_known)) return unknown(e.dtype);
    switch (e.op) {
    case ScalarOp::add: return fitting(operand(0) + operand(1), e.dtype);
    case ScalarOp::subtract: return fitting(operand(0) - operand(1), e.dtype);
    case ScalarOp::multiply: return fitting(operand(0) * operand(1), e.dtype);
    case ScalarOp::negate: return fitting(-operand(0), e.dtype);
    case ScalarOp::minimum: return premises_.minimum(operand(0), operand(1));
    case ScalarOp::maximum: return premises_.maximum(operand(0), operand(1));
    case ScalarOp::floor_divide:
    case ScalarOp::modulo: break;
    default: return unknown(e.dtype);
    }
    const Polynomial a = operand(0), divisor = operand(1);
    if (!premises_.proves(divisor - 1)) return unknown(e.dtype);
    return e.op == ScalarOp::modulo ? premises_.remainder(a, divisor) : premises_.quotient(a, divisor);
}

// What is outside stops the kernel, where it is asked for: elsewhere the value is 0.
Polynomial TreeValues::checked(const Expression& e) {
    const Polynomial bound = of(e.number);
    const bool asked = e.operands.size() < 2 || is_implied(e.operands[1], guard_);
    const Polynomial value = asked ? of(e.operands[0]) : Polynomial::of_atom(premises_.atom("checked"));
    premises_.add(value);
    premises_.add((asked ? bound - 1 : premises_.maximum(bound - 1, 0)) - value);
    return value;
}

bool TreeValues::is_implied(ExpressionId condition, ExpressionId by) const {
    if (by == no_id) return false;
    if (condition == by) return true;
    const Expression& e = tree_.expression(by);
    if (e.kind == Expression::Kind::let) return is_implied(condition, tree_.let(e.let_id()).value);
    const bool is_both = e.kind == Expression::Kind::scalar && (e.op == ScalarOp::logical_and || e.op == ScalarOp::bit_and);
    return is_both && (is_implied(condition, e.operands[0]) || is_implied(condition, e.operands[1]));
}

void TreeValues::assume(ExpressionId condition, bool holds) {
    const Expression& e = tree_.expression(condition);
    using enum Expression::Kind;
    if (e.kind == let) {
        // Its data may have changed since: what is not a let's own value is anything.
        std::map<ExpressionId, Polynomial> here;
        values_.swap(here);
        assume(tree_.let(e.let_id()).value, holds);
        values_.swap(here);
    } else if (e.kind == inside && holds) {
        const Polynomial value = of(e.operands[0]);
        premises_.add(value);
        premises_.add(of(e.number) - 1 - value);
    } else if (e.kind == scalar && e.op == ScalarOp::logical_not) {
        assume(e.operands[0], !holds);
    } else if (e.kind == scalar && is_bool(e.dtype)) {
        const bool is_both = e.op == ScalarOp::logical_and || e.op == ScalarOp::bit_and;
        const bool is_one = e.op == ScalarOp::logical_or || e.op == ScalarOp::bit_or;
        if (is_both ? holds : is_one && !holds) {
            for (ExpressionId operand : e.operands) assume(operand, holds);
        } else if (info(e.op).kind == ScalarClass::comparison && is_integer(tree_.expression(e.operands[0]).dtype)) {
            assume_comparison(e, holds);
        }
    }
}

// A comparison that is one of a sum with zero, which is not negative where it holds, and below zero elsewhere.
std::optional<Polynomial> TreeValues::condition(ExpressionId id) {
    const Expression& e = tree_.expression(id);
    if (e.kind != Expression::Kind::scalar || info(e.op).kind != ScalarClass::comparison ||
        !is_integer(tree_.expression(e.operands[0]).dtype))
        return std::nullopt;
    const auto difference = [&] { return of(e.operands[0]) - of(e.operands[1]); };
    switch (e.op) {
    case ScalarOp::less: return -difference() - 1;
    case ScalarOp::less_equal: return -difference();
    case ScalarOp::greater: return difference() - 1;
    case ScalarOp::greater_equal: return difference();
    default: return std::nullopt;
    }
}

void TreeValues::assume_comparison(const Expression& e, bool holds) {
    const Polynomial difference = of(e.operands[0]) - of(e.operands[1]);
    const auto less = [&] { premises_.add(-difference - 1); };
    const auto greater = [&] { premises_.add(difference - 1); };
    switch (e.op) {
    case ScalarOp::less: holds ? less() : premises_.add(difference); break;
    case ScalarOp::less_equal: holds ? premises_.add(-difference) : greater(); break;
    case ScalarOp::greater: holds ? greater() : premises_.add(-difference); break;
    case ScalarOp::greater_equal: holds ? premises_.add(difference) : less(); break;
    case ScalarOp::equal:
        if (holds) premises_.add_equal(difference, 0);
        break;
    case ScalarOp::not_equal:
        if (!holds) premises_.add_equal(difference, 0);
        break;
    default: break;
    }
}

}  // namespace heddle::schedules
