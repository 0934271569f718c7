#include "symbolic/projection_range.h"

#include <algorithm>
#include <cmath>

#include "expr/scalar_linear.h"
#include "zspace/checked.h"

namespace heddle {
namespace {

constexpr double exact_integers = 9.0e15;  // below 2^53: a double holds every integer up to here

ValueRange integers(Interval interval, bool data) {
    ValueRange value;
    value.interval = interval;
    value.data = data;
    if (interval.low == interval.high && !data) value.affine = LinearForm<VariableId>{interval.low, {}};
    return value;
}

ValueRange reals(RealInterval interval, bool data) {
    ValueRange value;
    value.kind = ValueRange::Kind::real;
    value.real = interval;
    value.data = data;
    return value;
}

ValueRange truths(std::optional<bool> truth, bool data) {
    ValueRange value;
    value.kind = ValueRange::Kind::truth;
    value.truth = truth;
    value.data = data && !truth;
    return value;
}

// From an interval in 0 .. 1.
ValueRange truths(Interval interval, bool data) {
    return truths(interval.is_point() ? std::optional(interval.low != 0) : std::nullopt, data);
}

Interval ends_of(std::optional<bool> truth) { return truth ? Interval::point(*truth) : Interval{0, 1}; }

ValueRange unknown(DType dtype, bool data) {
    if (is_bool(dtype)) return truths(std::nullopt, data);
    if (is_float(dtype) || is_complex(dtype)) return reals({}, data);
    return integers(interval_of(dtype), data);
}

ValueRange joined(const ValueRange& a, const ValueRange& b, bool data) {
    bool either = a.data || b.data || data;
    if (a.kind == ValueRange::Kind::truth) return truths(a.truth == b.truth ? a.truth : std::nullopt, either);
    if (a.kind == ValueRange::Kind::real) {
        if (!a.real.known() || !b.real.known()) return reals({}, either);
        return reals({std::min(a.real.low, b.real.low), std::max(a.real.high, b.real.high)}, either);
    }
    ValueRange hull = integers(heddle::hull(a.interval, b.interval), either);
    // Each side was looked at where it is taken: the form may be one, the intervals are not.
    if (a.affine && b.affine && *a.affine == *b.affine) hull.affine = a.affine;
    return hull;
}

std::optional<SteppedForm> stepped_form(const ValueRange& value) {
    return value.affine ? std::optional(SteppedForm{.rest = *value.affine}) : value.stepped;
}

}  // namespace

bool VariableRegion::is_empty() const {
    return std::ranges::any_of(ranges, &Interval::is_empty) ||
           std::ranges::any_of(sums, [](const Sum& sum) { return sum.values.is_empty(); }) ||
           std::ranges::any_of(values, [](const auto& value) { return value.second.is_empty(); });
}

VariableRegion full_region(const Body& body) {
    VariableRegion region;
    region.ranges.reserve(body.variables.size());
    for (const Variable& variable : body.variables) region.ranges.push_back(Interval::below(variable.extent));
    return region;
}

Interval RangeEvaluator::over_ranges(const LinearForm<VariableId>& form) const {
    return interval_of(form, [&](VariableId id) { return region_.ranges[static_cast<size_t>(id)]; });
}

// What is known of a sum S bounds form = factor * S + rest, by each factor that takes a variable out of the rest.
Interval RangeEvaluator::interval(const LinearForm<VariableId>& form) const {
    const Interval plain = over_ranges(form);
    Interval narrow = plain;
    for (const VariableRegion::Sum& sum : region_.sums) {
        for (const auto& [variable, coefficient] : sum.form.terms) {
            const Size wanted = form.coefficient(variable);
            if (wanted.same_as(0) || wanted.number() == INT64_MIN || !divides(coefficient, wanted)) continue;
            const Size factor = floor_divide(wanted, coefficient);
            if (const auto rest = linear_sum(form, sum.form, -factor))
                narrow = intersection(narrow, Interval::point(factor) * sum.values + over_ranges(*rest));
        }
    }
    return narrow.is_empty() ? plain : narrow;  // empty: no point is there, of which anything may be said
}

ValueRange RangeEvaluator::exact(LinearForm<VariableId> form) const {
    ValueRange value;
    value.interval = interval(form);
    value.affine = std::move(form);
    return value;
}

ValueRange RangeEvaluator::stepped(SteppedForm form) const {
    if (form.coefficient == 0) return exact(std::move(form.rest));
    ValueRange value;
    value.interval = interval_of(form, [&](const LinearForm<VariableId>& part) { return interval(part); });
    value.stepped = std::move(form);
    return value;
}

const ValueRange& RangeEvaluator::of(NodeId id) {
    if (const ValueRange* known = known_.find(id)) return *known;
    const Node& node = body_.node(id);
    ValueRange value = --*budget_ < 0 ? unknown(node.dtype, false) : evaluate(node);
    for (const auto& [narrowed, values] : region_.values) {
        const Interval both = intersection(value.interval, values);
        if (narrowed == id && !both.is_empty()) value.interval = both;
    }
    return known_.insert(id, std::move(value));
}

ValueRange RangeEvaluator::evaluate(const Node& node) {
    switch (node.kind) {
    case Node::Kind::integer: return is_bool(node.dtype) ? truths(node.integer != 0, false) : exact({node.integer, {}});
    case Node::Kind::real: return reals({node.real, node.real}, false);
    case Node::Kind::variable: return exact({0, {{node.variable(), 1}}});
    case Node::Kind::scalar: return scalar(node);
    case Node::Kind::cast: return converted(of(node.operands[0]), body_.node(node.operands[0]).dtype, node.dtype);
    case Node::Kind::select: return selection(node);
    case Node::Kind::read:
    case Node::Kind::guarded_read: return unknown(node.dtype, true);
    case Node::Kind::local: {
        if (body_.local(node.local()).is_state()) return unknown(node.dtype, true);
        ValueRange value = of(body_.local(node.local()).value);
        value.affine.reset();  // its own axes are not the reader's
        value.stepped.reset();
        return value;
    }
    case Node::Kind::previous: return unknown(node.dtype, true);
    case Node::Kind::reduce: return reduction(node);
    default: return unknown(node.dtype, true);
    }
}

ValueRange RangeEvaluator::scalar(const Node& node) {
    const ScalarOpInfo& row = info(node.op);
    const ValueRange& a = of(node.operands[0]);
    if (row.kind == ScalarClass::of_complex) return unknown(node.dtype, true);
    if (row.operands == 1) return unary(node, a);
    const ValueRange& b = of(node.operands[1]);
    const bool data = a.data || b.data;
    if (row.kind == ScalarClass::comparison) return comparison(node.op, a, b);
    if (a.kind == ValueRange::Kind::truth)
        return truths(interval_of(node.op, ends_of(a.truth), ends_of(b.truth)), data);
    if (a.kind == ValueRange::Kind::real) return reals(interval_of(node.op, a.real, b.real), data);
    return fitting(arithmetic(node.op, a, b), node.dtype);
}

// Arithmetic on narrow integers wraps: an interval that leaves the type says nothing.
ValueRange RangeEvaluator::fitting(ValueRange value, DType dtype) {
    return holds(dtype, value.interval) ? value : unknown(dtype, value.data);
}

ValueRange RangeEvaluator::arithmetic(ScalarOp op, const ValueRange& a, const ValueRange& b) {
    const Interval &x = a.interval, &y = b.interval;
    bool data = a.data || b.data;
    if (a.affine && b.affine)
        if (auto form = linear_form_of(op, *a.affine, *b.affine)) return exact(std::move(*form));
    if (const auto first = stepped_form(a), second = stepped_form(b); first && second)
        if (auto form = stepped_form_of(op, *first, *second)) {
            ValueRange value = stepped(std::move(*form));
            value.interval = intersection(value.interval, interval_of(op, x, y));
            return value;
        }
    switch (op) {
    case ScalarOp::floor_divide:
    case ScalarOp::modulo: return divided(op, a, b);
    case ScalarOp::truncate_divide:
    case ScalarOp::truncate_remainder:
        if (x.low >= 0 && y.low > 0)
            return divided(op == ScalarOp::truncate_divide ? ScalarOp::floor_divide : ScalarOp::modulo, a, b);
        break;
    case ScalarOp::minimum:
    case ScalarOp::maximum: {
        bool least = op == ScalarOp::minimum;
        if (x.high <= y.low) return least ? a : b;
        if (y.high <= x.low) return least ? b : a;
        break;
    }
    default: break;
    }
    return integers(interval_of(op, x, y), data);
}

// floor(c + sum q a, B): terms with B | q come out; a rest inside [0, B) is nothing to the quotient and all of the
// remainder.
ValueRange RangeEvaluator::divided(ScalarOp op, const ValueRange& a, const ValueRange& b) {
    const Interval &x = a.interval, &y = b.interval;
    bool quotient = op == ScalarOp::floor_divide;
    if (!quotient && x.low >= 0 && x.high < y.low) return a;
    if (y.is_point() && y.low > 0 && a.affine) {
        const Size divisor = y.low;
        SteppedForm form = quotient_form(*a.affine, divisor);
        if (interval(form.base).within(0, divisor - 1))
            return exact(quotient ? std::move(form.rest) : std::move(form.base));
        return stepped(quotient ? std::move(form) : remainder_of(form));
    }
    return integers(interval_of(op, x, y), a.data || b.data);
}

ValueRange RangeEvaluator::comparison(ScalarOp op, const ValueRange& a, const ValueRange& b) {
    bool data = a.data || b.data;
    if (a.kind == ValueRange::Kind::truth) return truths(std::nullopt, data);
    if (a.kind == ValueRange::Kind::real) return truths(interval_of_comparison(op, a.real, b.real), data);
    if (data) return truths(interval_of(op, a.interval, b.interval), data);
    // What both sides share is gone from their difference.
    const Interval difference = arithmetic(ScalarOp::subtract, a, b).interval;
    return truths(interval_of(op, difference, Interval::point(0)), data);
}

ValueRange RangeEvaluator::unary(const Node& node, const ValueRange& a) {
    const ScalarOp op = node.op;
    if (is_bool(node.dtype)) {
        const Interval truth = a.kind == ValueRange::Kind::truth ? ends_of(a.truth) : Interval{0, 1};
        return truths(interval_of(op, truth), a.data);
    }
    if (a.kind == ValueRange::Kind::real) return reals(interval_of(op, a.real), a.data);
    if (op == ScalarOp::absolute && a.interval.low >= 0) return a;
    const bool turned = op == ScalarOp::negate || (op == ScalarOp::absolute && a.interval.high <= 0);
    if (turned && a.affine)
        if (auto form = linear_form_of(ScalarOp::negate, *a.affine, *a.affine)) return exact(std::move(*form));
    return fitting(integers(interval_of(op, a.interval), a.data), node.dtype);
}

ValueRange RangeEvaluator::converted(const ValueRange& value, DType from, DType to) {
    if (is_complex(to)) return unknown(to, value.data);
    if (is_bool(to) || is_bool(from)) {
        if (is_bool(from) && is_integer(to)) return integers({0, 1}, value.data);
        if (is_bool(from)) return reals({0, 1}, value.data);
        return truths(std::nullopt, value.data);
    }
    if (is_float(to)) {
        if (is_float(from)) {
            if (to != DType::float64) return reals({}, value.data);  // rounds: indices are not computed in these
            return value;
        }
        if (to != DType::float64) return reals({}, value.data);
        const Interval& x = value.interval;
        // Only numbers have a float: it may be any of many, and what indexes by it checks it.
        if (x.low.named() || x.high.named()) return reals({}, value.data);
        if (std::abs(static_cast<double>(x.low.value())) > exact_integers ||
            std::abs(static_cast<double>(x.high.value())) > exact_integers)
            return reals({}, value.data);
        return reals({static_cast<double>(x.low.value()), static_cast<double>(x.high.value())}, value.data);
    }
    Interval limits = to == DType::uint64 ? Interval{0, highest} : interval_of(to);
    if (is_float(from)) {  // truncates and saturates
        if (!value.real.known()) return unknown(to, value.data);
        auto integer = [&](double v) -> Size {
            if (v <= static_cast<double>(limits.low)) return limits.low;
            if (v >= static_cast<double>(limits.high)) return limits.high;
            return static_cast<int64_t>(std::trunc(v));
        };
        return integers({integer(value.real.low), integer(value.real.high)}, value.data);
    }
    return fitting(value, to);
}

ValueRange RangeEvaluator::selection(const Node& node) {
    ValueRange condition = of(node.operands[0]);
    if (condition.truth) return of(node.operands[*condition.truth ? 1 : 2]);
    std::optional<ValueRange> sides[2];
    for (int side = 0; side < 2; ++side) {
        NodeId branch = node.operands[static_cast<size_t>(1 + side)];
        auto region = narrowed(node.operands[0], side == 0);
        // Where a variable of another place has no values at all, that says nothing of this one.
        if (region && region->is_empty() && !region_.is_empty()) continue;
        if (!region) {
            sides[side] = of(branch);
            continue;
        }
        RangeEvaluator inside(body_, std::move(*region), budget_);
        ValueRange value = inside.of(branch);
        sides[side] = std::move(value);
    }
    if (!sides[0]) return sides[1] ? *sides[1] : unknown(node.dtype, condition.data);
    if (!sides[1]) return *sides[0];
    return joined(*sides[0], *sides[1], condition.data);
}

ValueRange RangeEvaluator::reduction(const Node& node) {
    std::optional<Size> terms = 1;
    bool filtered = node.operands.size() == 2;
    for (VariableId variable : node.variables) {
        terms = checked_multiply(*terms, greater(body_.variable(variable).extent, 0));
        if (!terms) return unknown(node.dtype, true);
    }
    if (*terms == 0) return unknown(node.dtype, true);
    if (is_argument(node.reducer)) return integers({filtered ? -1 : 0, *terms - 1}, true);
    ValueRange term = of(node.operands[0]);
    if (term.kind != ValueRange::Kind::integer) return unknown(node.dtype, true);
    bool data = term.data || (filtered && of(node.operands[1]).data);
    switch (node.reducer) {
    case Reducer::minimum:
    case Reducer::maximum: return filtered ? unknown(node.dtype, data) : integers(term.interval, data);
    case Reducer::sum: {
        const Interval sum = term.interval * Interval{filtered ? Size(0) : *terms, *terms};
        return sum.known() ? fitting(integers(sum, data), node.dtype) : unknown(node.dtype, data);
    }
    default: return unknown(node.dtype, true);
    }
}

}  // namespace heddle
