#include "equations/integer_ranges.h"

#include <algorithm>

#include "expr/arena_interval.h"
#include "expr/remake.h"
#include "expr/scalar_interval.h"

namespace heddle::equations {

bool is_exact_on_integers(Expr value) {
    if (value->kind != Kind::scalar) return false;
    // What rounds down gives the same in any type that holds it.
    if (value->op == ScalarOp::floor_divide)
        return value->parts()[1]->kind == Kind::integer && value->parts()[1]->integer > 0;
    return value->op == ScalarOp::add || value->op == ScalarOp::subtract || value->op == ScalarOp::multiply ||
           value->op == ScalarOp::minimum || value->op == ScalarOp::maximum;
}

bool is_remainder(Expr value) {
    return value->kind == Kind::scalar && value->op == ScalarOp::modulo && is_integer(value->dtype) &&
           value->parts()[1]->kind == Kind::integer && value->parts()[1]->integer > 0;
}

// Of whatever it is taken.
static Interval of_remainder(Expr value) { return {0, value->parts()[1]->integer - 1}; }

// Producers first, so that a long chain of tensors is no deep recursion.
IntegerRanges::IntegerRanges(const System& system) : system_(system) {
    for (int32_t index : system.order()) {
        const TensorIndex made = system.equation(index).tensor;
        if (is_integer(system.tensor(made).dtype)) of_elements(made);
    }
}

Interval IntegerRanges::of(Expr value) {
    if (const auto known = known_.find(value); known != known_.end()) return known->second;
    if (is_float(value->dtype)) return {};
    for (Expr e : operands_first(value)) {
        if (!known_.contains(e)) known_[e] = of_operation(e);
    }
    return known_[value];
}

// Whatever size of its class a named one is.
Interval IntegerRanges::in_class(const Interval& range) const {
    const auto end = [&](const Size& size, bool is_low) -> Size {
        if (!size.named()) return size;
        const Interval ends = size.origin()->within_class(system_.representatives);
        return is_low ? ends.low : ends.high;
    };
    return {end(range.low, true), end(range.high, false)};
}

// Its operands are known.
Interval IntegerRanges::of_operation(Expr e) {
    if (is_float(e->dtype)) return {};
    const auto& parts = e->parts();
    const Interval all = e->dtype == DType::int64 ? in_class(interval(e)) : interval_of(e->dtype);
    Interval found;
    if (e->kind == Kind::integer)
        found = in_class(Interval::point(e->integer));
    else if (e->kind == Kind::cast)
        found = known_[parts[0]];
    else if (e->kind == Kind::select)
        found = hull(known_[parts[1]], known_[parts[2]]);
    else if (e->is_read())
        found = of_elements(e->tensor());
    else if (is_remainder(e))
        found = of_remainder(e);
    else if (is_exact_on_integers(e) && known_[parts[0]].known() && known_[parts[1]].known())
        found = interval_of(e->op, known_[parts[0]], known_[parts[1]]);
    if (e->kind == Kind::guarded_read) found = hull(found, known_[parts.back()]);
    return found.within(all) && holds(e->dtype, found) ? found : all;  // what leaves its type wraps
}

Expr IntegerRanges::narrowed(Arena& arena, Expr value, DType dtype) {
    if (!holds(dtype, of(value))) return nullptr;
    std::unordered_map<Expr, Expr> made;
    const auto make = [&](Expr e) -> Expr {
        const auto& parts = e->parts();
        if (!holds(dtype, of(e))) return nullptr;
        if (e->dtype == dtype) return e;
        if (e->kind == Kind::integer) return arena.literal(dtype, e->integer, e->from_template);
        if (e->is_read()) return arena.cast(dtype, e);
        if (e->kind == Kind::cast && bytes(parts[0]->dtype) <= bytes(dtype)) return arena.cast(dtype, parts[0]);
        const bool chosen = e->kind == Kind::select;
        if (!chosen && !is_exact_on_integers(e)) return nullptr;
        const Expr a = made[parts[chosen ? 1 : 0]], b = made[parts[chosen ? 2 : 1]];
        if (a == nullptr || b == nullptr) return nullptr;
        return chosen ? arena.select(parts[0], a, b) : arena.scalar(e->op, dtype, {a, b});
    };
    for (Expr e : operands_first(value)) made[e] = make(e);
    return made[value];
}

Interval IntegerRanges::of_numbers(const TensorData& table) {
    constexpr int64_t most_looked_at = 256;
    if (table.size() == 0 || table.size() > most_looked_at || !is_integer(table.dtype())) return {};
    Interval found = Interval::point(table.integer_at(0));
    for (int64_t i = 1; i < table.size(); i++) found = hull(found, Interval::point(table.integer_at(i)));
    return found;
}

static Interval extent_of(const Axis& axis) {
    if (!axis.named) return Interval::point(axis.extent);
    return {0, axis.most > 0 ? axis.most : INT64_MAX};
}

Interval IntegerRanges::of_elements(TensorIndex tensor) {
    const SystemTensor& info = system_.tensor(tensor);
    if (info.constant) return of_numbers(*info.constant);
    if (info.kind != SystemTensor::Kind::computed || info.equations.empty()) return {};
    if (const auto known = elements_.find(tensor); known != elements_.end()) return known->second;
    elements_[tensor] = {};  // of what reads itself on the way
    if (system_.in_scan(tensor)) return elements_[tensor] = of_state(tensor);
    Interval all = nothing;
    for (int32_t index : info.equations) {
        const Equation& equation = system_.equation(index);
        if (equation.reducer && equation.reducer != Reducer::sum) return {};
        all = hull(all, equation.reducer ? of_sum(equation) : of(equation.right));
    }
    return elements_[tensor] = all;
}

Interval IntegerRanges::of_sum(const Equation& equation) {
    Interval sum = hull(Interval::point(0), of(equation.right));
    for (AxisId axis : equation.reduced) sum = sum * extent_of(system_.arena->axis(axis));
    return sum;
}

// Within the values that are not made of it, and as many changes as there are steps.
Interval IntegerRanges::of_state(TensorIndex tensor) {
    Step all = {nothing, Interval::point(0)};
    Interval steps = Interval::point(0);
    for (int32_t index : system_.tensor(tensor).equations) {
        const Equation& equation = system_.equation(index);
        if (equation.reducer) {
            if (equation.reducer != Reducer::sum) return {};
            all.values = hull(all.values, of_sum(equation));  // if it takes the state: of any values
            continue;
        }
        if (equation.scan >= 0) steps = hull(steps, extent_of(system_.arena->axis(equation.ordered)));
        const Step own = step_of(tensor, equation.right);
        all = {hull(all.values, own.values), hull(all.changes, own.changes)};
    }
    return all.values.is_empty() ? Interval{} : all.values + all.changes * steps;
}

IntegerRanges::Step IntegerRanges::step_of(TensorIndex state, Expr right) {
    std::unordered_map<Expr, Step> steps;  // of what holds the state
    const auto holds_state = [&](Expr e) { return steps.contains(e); };
    const auto of_part = [&](Expr e) {
        const auto found = steps.find(e);
        return found != steps.end() ? found->second : Step{of(e), nothing};
    };
    for (Expr e : operands_first(right)) {
        const auto& parts = e->parts();
        const bool deeper = std::ranges::any_of(parts, holds_state);
        if (e->is_read() && e->tensor() == state && !deeper)
            steps[e] = {e->kind == Kind::guarded_read ? of(parts.back()) : nothing, Interval::point(0)};
        else if (deeper)
            steps[e] = step_of_operation(e, of_part);
    }
    return of_part(right);
}

// Of an operation on what holds the state.
IntegerRanges::Step IntegerRanges::step_of_operation(Expr e, const std::function<Step(Expr)>& of_part) {
    const auto& parts = e->parts();
    const auto either = [](Step a, Step b) { return Step{hull(a.values, b.values), hull(a.changes, b.changes)}; };
    if (e->kind == Kind::select) return either(of_part(parts[1]), of_part(parts[2]));
    if (is_remainder(e)) return {of_remainder(e), nothing};
    if (!is_exact_on_integers(e)) return {};
    if (e->op == ScalarOp::minimum || e->op == ScalarOp::maximum) return either(of_part(parts[0]), of_part(parts[1]));
    const Step a = of_part(parts[0]), b = of_part(parts[1]);
    const auto with = [](Interval some, Interval term) { return some.is_empty() ? some : some + term; };
    if (e->op == ScalarOp::add && a.changes.is_empty()) return {with(b.values, a.values), b.changes + a.values};
    if ((e->op != ScalarOp::add && e->op != ScalarOp::subtract) || !b.changes.is_empty()) return {};
    const Interval term = e->op == ScalarOp::add ? b.values : -b.values;
    return {with(a.values, term), a.changes + term};
}

}  // namespace heddle::equations
