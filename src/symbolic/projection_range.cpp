#include "symbolic/projection_range.h"

#include <algorithm>
#include <cmath>

#include "zspace/checked.h"
#include "zspace/linear_sum.h"

namespace heddle {
namespace {

using Wide = __int128;
constexpr double exact_integers = 9.0e15;  // below 2^53: a double holds every integer up to here

int64_t saturated(Wide value) {
    return value < lowest ? lowest : value > highest ? highest : static_cast<int64_t>(value);
}

ValueRange integers(ValueInterval interval, bool data) {
    ValueRange value;
    value.interval = interval;
    value.data = data;
    if (interval.low == interval.high && !data) value.affine = AffineCoordinate{{}, interval.low};
    return value;
}

ValueRange reals(double low, double high, bool data) {
    ValueRange value;
    value.kind = ValueRange::Kind::real;
    value.real_low = low;
    value.real_high = high;
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

ValueRange unknown(DType dtype, bool data) {
    if (is_bool(dtype)) return truths(std::nullopt, data);
    if (is_float(dtype) || is_complex(dtype)) return reals(NAN, NAN, data);
    int bits = info(dtype).bits;
    bool is_signed = info(dtype).kind == DTypeClass::signed_integer;
    if (bits == 64) return integers(is_signed ? ValueInterval{} : ValueInterval{0, highest}, data);
    int64_t span = int64_t{1} << (is_signed ? bits - 1 : bits);
    return integers({is_signed ? -span : 0, span - 1}, data);
}

bool known(const ValueRange& value) { return !std::isnan(value.real_low) && !std::isnan(value.real_high); }

ValueRange joined(const ValueRange& a, const ValueRange& b, bool data) {
    bool either = a.data || b.data || data;
    if (a.kind == ValueRange::Kind::truth) return truths(a.truth == b.truth ? a.truth : std::nullopt, either);
    if (a.kind == ValueRange::Kind::real) {
        if (!known(a) || !known(b)) return reals(NAN, NAN, either);
        return reals(std::min(a.real_low, b.real_low), std::max(a.real_high, b.real_high), either);
    }
    ValueRange hull =
        integers({std::min(a.interval.low, b.interval.low), std::max(a.interval.high, b.interval.high)}, either);
    // Each side was looked at where it is taken: the form may be one, the intervals are not.
    if (a.affine && b.affine && *a.affine == *b.affine) hull.affine = a.affine;
    return hull;
}

ValueInterval hull(std::initializer_list<Wide> values) {
    return {saturated(std::min(values)), saturated(std::max(values))};
}

}  // namespace

int64_t AffineCoordinate::coefficient(VariableId variable) const {
    for (const auto& [term, value] : terms)
        if (term == variable) return value;
    return 0;
}

bool VariableRegion::is_empty() const {
    return std::ranges::any_of(ranges, &ValueInterval::is_empty) ||
           std::ranges::any_of(sums, [](const Sum& sum) { return sum.values.is_empty(); });
}

VariableRegion full_region(const Body& body) {
    VariableRegion region;
    region.ranges.reserve(body.variables.size());
    for (const Variable& variable : body.variables) region.ranges.push_back({0, variable.extent.value - 1});
    return region;
}

ValueInterval RangeEvaluator::over_ranges(const AffineCoordinate& form) const {
    Wide low = form.constant, high = form.constant;
    for (const auto& [variable, coefficient] : form.terms) {
        const ValueInterval& range = region_.ranges[static_cast<size_t>(variable)];
        low += Wide(coefficient) * (coefficient > 0 ? range.low : range.high);
        high += Wide(coefficient) * (coefficient > 0 ? range.high : range.low);
    }
    return {saturated(low), saturated(high)};
}

// What is known of a sum S bounds form = factor * S + rest, by each factor that takes a variable out of the rest.
ValueInterval RangeEvaluator::interval(const AffineCoordinate& form) const {
    const ValueInterval plain = over_ranges(form);
    ValueInterval narrow = plain;
    for (const VariableRegion::Sum& sum : region_.sums) {
        for (const auto& [variable, coefficient] : sum.form.terms) {
            const int64_t wanted = form.coefficient(variable);
            if (wanted == 0 || wanted == lowest || wanted % coefficient != 0) continue;
            const int64_t factor = wanted / coefficient;
            const auto rest = linear_sum(form, sum.form, -factor);
            if (!rest) continue;
            const ValueInterval others = over_ranges(*rest);
            const auto& [low, high] = sum.values;
            narrow.low = std::max(narrow.low, saturated(Wide(factor) * (factor > 0 ? low : high) + others.low));
            narrow.high = std::min(narrow.high, saturated(Wide(factor) * (factor > 0 ? high : low) + others.high));
        }
    }
    return narrow.is_empty() ? plain : narrow;  // empty: no point is there, of which anything may be said
}

ValueRange RangeEvaluator::exact(AffineCoordinate form) const {
    ValueRange value;
    value.interval = interval(form);
    value.affine = std::move(form);
    return value;
}

const ValueRange& RangeEvaluator::of(NodeId id) {
    if (const ValueRange* known = known_.find(id)) return *known;
    const Node& node = body_.node(id);
    return known_.insert(id, --*budget_ < 0 ? unknown(node.dtype, false) : evaluate(node));
}

ValueRange RangeEvaluator::evaluate(const Node& node) {
    switch (node.kind) {
    case Node::Kind::integer: return is_bool(node.dtype) ? truths(node.integer != 0, false) : exact({{}, node.integer});
    case Node::Kind::real: return reals(node.real, node.real, false);
    case Node::Kind::variable: return exact({{{node.index, 1}}, 0});
    case Node::Kind::scalar: return scalar(node);
    case Node::Kind::cast: return converted(of(node.operands[0]), body_.node(node.operands[0]).dtype, node.dtype);
    case Node::Kind::select: return selection(node);
    case Node::Kind::read:
    case Node::Kind::guarded_read: return unknown(node.dtype, true);
    case Node::Kind::local: {
        if (body_.locals[static_cast<size_t>(node.index)].is_state()) return unknown(node.dtype, true);
        ValueRange value = of(body_.locals[static_cast<size_t>(node.index)].value);
        value.affine.reset();  // its own axes are not the reader's
        return value;
    }
    case Node::Kind::previous: return unknown(node.dtype, true);
    case Node::Kind::reduce: return reduction(node);
    }
    return unknown(node.dtype, true);
}

ValueRange RangeEvaluator::scalar(const Node& node) {
    const ScalarOpInfo& row = info(node.op);
    const ValueRange& a = of(node.operands[0]);
    if (row.kind == ScalarClass::of_complex) return unknown(node.dtype, true);
    if (row.operands == 1) {
        if (node.op == ScalarOp::logical_not) return truths(a.truth ? std::optional(!*a.truth) : std::nullopt, a.data);
        return row.kind == ScalarClass::predicate ? truths(std::nullopt, a.data) : unary(node.op, a);
    }
    const ValueRange& b = of(node.operands[1]);
    if (row.kind == ScalarClass::comparison) return comparison(node.op, a, b);
    if (a.kind == ValueRange::Kind::truth) {
        bool data = a.data || b.data;
        bool absorbing = node.op == ScalarOp::logical_or;
        if (node.op != ScalarOp::logical_and && node.op != ScalarOp::logical_or) return truths(std::nullopt, data);
        if (a.truth == absorbing || b.truth == absorbing) return truths(absorbing, data);
        return truths(a.truth && b.truth ? std::optional(!absorbing) : std::nullopt, data);
    }
    if (a.kind == ValueRange::Kind::real) return real_arithmetic(node.op, a, b);
    ValueRange value = arithmetic(node.op, a, b);
    // Arithmetic on narrow integers wraps: an interval that leaves the type says nothing.
    ValueInterval limits = unknown(node.dtype, false).interval;
    if (value.interval.low < limits.low || value.interval.high > limits.high) return unknown(node.dtype, value.data);
    return value;
}

ValueRange RangeEvaluator::arithmetic(ScalarOp op, const ValueRange& a, const ValueRange& b) {
    const ValueInterval &x = a.interval, &y = b.interval;
    bool data = a.data || b.data;
    switch (op) {
    case ScalarOp::add:
    case ScalarOp::subtract: {
        int64_t sign = op == ScalarOp::add ? 1 : -1;
        if (a.affine && b.affine)
            if (auto form = linear_sum(*a.affine, *b.affine, sign)) return exact(std::move(*form));
        return integers(hull({Wide(x.low) + sign * Wide(sign > 0 ? y.low : y.high),
                              Wide(x.high) + sign * Wide(sign > 0 ? y.high : y.low)}),
                        data);
    }
    case ScalarOp::multiply: {
        const ValueRange& factor = a.affine && a.affine->terms.empty() ? a : b;
        const ValueRange& form = &factor == &a ? b : a;
        if (factor.affine && factor.affine->terms.empty() && form.affine)
            if (auto product = linear_sum({}, *form.affine, factor.affine->constant)) return exact(std::move(*product));
        return integers(hull({Wide(x.low) * y.low, Wide(x.low) * y.high, Wide(x.high) * y.low, Wide(x.high) * y.high}),
                        data);
    }
    case ScalarOp::floor_divide:
    case ScalarOp::modulo: return divided(op, a, b);
    case ScalarOp::minimum:
    case ScalarOp::maximum: {
        bool least = op == ScalarOp::minimum;
        if (x.high <= y.low) return least ? a : b;
        if (y.high <= x.low) return least ? b : a;
        if (least) return integers({std::min(x.low, y.low), std::min(x.high, y.high)}, data);
        return integers({std::max(x.low, y.low), std::max(x.high, y.high)}, data);
    }
    case ScalarOp::truncate_divide:
        if (x.low >= 0 && y.low > 0) return divided(ScalarOp::floor_divide, a, b);
        return integers({}, data);
    case ScalarOp::truncate_remainder:
        if (x.low >= 0 && y.low > 0) return divided(ScalarOp::modulo, a, b);
        return integers({}, data);
    default: return integers({}, data);
    }
}

// floor(c + sum q a, B): terms with B | q come out; a rest inside [0, B) is nothing to the quotient and all of the
// remainder.
ValueRange RangeEvaluator::divided(ScalarOp op, const ValueRange& a, const ValueRange& b) {
    const ValueInterval &x = a.interval, &y = b.interval;
    bool data = a.data || b.data;
    bool quotient = op == ScalarOp::floor_divide;
    if (y.low == y.high && y.low > 0 && a.affine) {
        int64_t divisor = y.low;
        AffineCoordinate whole, rest;
        whole.constant = floor_divide(a.affine->constant, divisor);
        rest.constant = floor_modulo(a.affine->constant, divisor);
        for (const auto& [variable, coefficient] : a.affine->terms) {
            if (coefficient % divisor == 0)
                whole.terms.emplace_back(variable, coefficient / divisor);
            else
                rest.terms.emplace_back(variable, coefficient);
        }
        ValueInterval inside = interval(rest);
        if (inside.low >= 0 && inside.high < divisor) return exact(quotient ? std::move(whole) : std::move(rest));
    }
    if (y.low <= 0) {
        if (y.low == 0 && y.high == 0) return integers({0, 0}, data);  // by zero gives 0
        // |x // y| <= |x| for every divisor but 0, which gives 0; |x % y| < |y|.
        if (quotient) {
            Wide reach = std::max(Wide(x.high), -Wide(x.low));
            return integers({saturated(-reach - 1), saturated(reach)}, data);
        }
        return integers({saturated(std::min(Wide(y.low) + 1, Wide(0))), saturated(std::max(Wide(y.high) - 1, Wide(0)))},
                        data);
    }
    if (quotient) {
        if (!x.bounded()) return integers({}, data);
        return integers(hull({floor_divide(x.low, y.low), floor_divide(x.low, y.high), floor_divide(x.high, y.low),
                              floor_divide(x.high, y.high)}),
                        data);
    }
    bool one_period = y.low == y.high && x.bounded() && floor_divide(x.low, y.low) == floor_divide(x.high, y.low);
    if (one_period) return integers({floor_modulo(x.low, y.low), floor_modulo(x.high, y.low)}, data);
    if (x.low >= 0 && x.high < y.low) return a;
    return integers({0, y.high - 1}, data);
}

ValueRange RangeEvaluator::real_arithmetic(ScalarOp op, const ValueRange& a, const ValueRange& b) {
    bool data = a.data || b.data;
    ValueRange nothing = reals(NAN, NAN, data);
    if (op == ScalarOp::minimum || op == ScalarOp::maximum) {
        // A NaN wins, so that an unknown side leaves nothing known.
        if (!known(a) || !known(b)) return nothing;
        if (op == ScalarOp::minimum)
            return reals(std::min(a.real_low, b.real_low), std::min(a.real_high, b.real_high), data);
        return reals(std::max(a.real_low, b.real_low), std::max(a.real_high, b.real_high), data);
    }
    if (!known(a) || !known(b)) return nothing;
    // Rounding is monotone: the ends of the exact interval, rounded, bound every rounded value.
    auto corners = [&](auto f) {
        double w = f(a.real_low, b.real_low), x = f(a.real_low, b.real_high);
        double y = f(a.real_high, b.real_low), z = f(a.real_high, b.real_high);
        if (std::isnan(w) || std::isnan(x) || std::isnan(y) || std::isnan(z)) return nothing;
        return reals(std::min({w, x, y, z}), std::max({w, x, y, z}), data);
    };
    switch (op) {
    case ScalarOp::add: return corners([](double p, double q) { return p + q; });
    case ScalarOp::subtract: return corners([](double p, double q) { return p - q; });
    case ScalarOp::multiply: return corners([](double p, double q) { return p * q; });
    case ScalarOp::divide:
        if (b.real_low <= 0 && b.real_high >= 0) return nothing;
        return corners([](double p, double q) { return p / q; });
    default: return nothing;
    }
}

ValueRange RangeEvaluator::comparison(ScalarOp op, const ValueRange& a, const ValueRange& b) {
    bool data = a.data || b.data;
    if (a.kind == ValueRange::Kind::truth) return truths(std::nullopt, data);
    double low, high;  // of a - b, only its sign matters
    if (a.kind == ValueRange::Kind::real) {
        if (!known(a) || !known(b)) return truths(std::nullopt, data);
        low = a.real_low > b.real_high ? 1 : a.real_low == b.real_high ? 0 : -1;
        high = a.real_high > b.real_low ? 1 : a.real_high == b.real_low ? 0 : -1;
    } else {
        ValueInterval difference = arithmetic(ScalarOp::subtract, a, b).interval;
        if (data)
            difference = {saturated(Wide(a.interval.low) - b.interval.high),
                          saturated(Wide(a.interval.high) - b.interval.low)};
        low = static_cast<double>(difference.low);
        high = static_cast<double>(difference.high);
    }
    auto decided = [&](bool yes, bool no) {
        return truths(yes ? std::optional(true) : no ? std::optional(false) : std::nullopt, data);
    };
    switch (op) {
    case ScalarOp::less: return decided(high < 0, low >= 0);
    case ScalarOp::less_equal: return decided(high <= 0, low > 0);
    case ScalarOp::greater: return decided(low > 0, high <= 0);
    case ScalarOp::greater_equal: return decided(low >= 0, high < 0);
    case ScalarOp::equal: return decided(low == 0 && high == 0, low > 0 || high < 0);
    default: return decided(low > 0 || high < 0, low == 0 && high == 0);
    }
}

ValueRange RangeEvaluator::unary(ScalarOp op, const ValueRange& a) {
    if (a.kind == ValueRange::Kind::integer) {
        const ValueInterval& x = a.interval;
        switch (op) {
        case ScalarOp::negate:
            if (a.affine)
                if (auto form = linear_sum({}, *a.affine, -1)) return exact(std::move(*form));
            return integers(hull({-Wide(x.low), -Wide(x.high)}), a.data);
        case ScalarOp::absolute:
            if (x.low >= 0) return a;
            if (x.high <= 0) return unary(ScalarOp::negate, a);
            return integers({0, saturated(std::max(-Wide(x.low), Wide(x.high)))}, a.data);
        case ScalarOp::sign:
            return integers({x.low > 0 ? 1 : x.low == 0 ? 0 : -1, x.high < 0 ? -1 : x.high == 0 ? 0 : 1}, a.data);
        default: return integers({}, a.data);
        }
    }
    if (!known(a)) return reals(NAN, NAN, a.data);
    auto monotone = [&](auto f) { return reals(f(a.real_low), f(a.real_high), a.data); };
    switch (op) {
    case ScalarOp::negate: return reals(-a.real_high, -a.real_low, a.data);
    case ScalarOp::floor: return monotone([](double v) { return std::floor(v); });
    case ScalarOp::ceil: return monotone([](double v) { return std::ceil(v); });
    case ScalarOp::round: return monotone([](double v) { return std::nearbyint(v); });
    case ScalarOp::truncate: return monotone([](double v) { return std::trunc(v); });
    case ScalarOp::absolute:
        if (a.real_low >= 0) return a;
        return reals(a.real_high <= 0 ? -a.real_high : 0, std::max(-a.real_low, a.real_high), a.data);
    default: return reals(NAN, NAN, a.data);
    }
}

ValueRange RangeEvaluator::converted(const ValueRange& value, DType from, DType to) {
    if (is_complex(to)) return unknown(to, value.data);
    if (is_bool(to) || is_bool(from)) {
        if (is_bool(from) && is_integer(to)) return integers({0, 1}, value.data);
        if (is_bool(from)) return reals(0, 1, value.data);
        return truths(std::nullopt, value.data);
    }
    if (is_float(to)) {
        if (is_float(from)) {
            if (to != DType::float64) return reals(NAN, NAN, value.data);  // rounds: indices are not computed in these
            return value;
        }
        if (to != DType::float64) return reals(NAN, NAN, value.data);
        const ValueInterval& x = value.interval;
        if (std::abs(static_cast<double>(x.low)) > exact_integers ||
            std::abs(static_cast<double>(x.high)) > exact_integers)
            return reals(NAN, NAN, value.data);
        return reals(static_cast<double>(x.low), static_cast<double>(x.high), value.data);
    }
    ValueInterval limits = unknown(to, false).interval;
    if (is_float(from)) {  // truncates and saturates
        if (!known(value)) return unknown(to, value.data);
        auto integer = [&](double v) {
            if (v <= static_cast<double>(limits.low)) return limits.low;
            if (v >= static_cast<double>(limits.high)) return limits.high;
            return static_cast<int64_t>(std::trunc(v));
        };
        return integers({integer(value.real_low), integer(value.real_high)}, value.data);
    }
    if (value.interval.low < limits.low || value.interval.high > limits.high) return unknown(to, value.data);
    return value;
}

ValueRange RangeEvaluator::selection(const Node& node) {
    ValueRange condition = of(node.operands[0]);
    if (condition.truth) return of(node.operands[*condition.truth ? 1 : 2]);
    std::optional<ValueRange> sides[2];
    for (int side = 0; side < 2; ++side) {
        NodeId branch = node.operands[static_cast<size_t>(1 + side)];
        auto region = narrowed(node.operands[0], side == 0);
        if (region && region->is_empty()) continue;
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
    Wide terms = 1;
    bool filtered = node.operands.size() == 2;
    for (VariableId variable : node.variables) {
        terms *= std::max<int64_t>(body_.variable(variable).extent.value, 0);
        if (terms > highest) return unknown(node.dtype, true);
    }
    if (terms == 0) return unknown(node.dtype, true);
    if (is_argument(node.reducer)) return integers({0, saturated(terms - 1)}, true);
    ValueRange term = of(node.operands[0]);
    if (term.kind != ValueRange::Kind::integer) return unknown(node.dtype, true);
    const ValueInterval& x = term.interval;
    bool data = term.data || (filtered && of(node.operands[1]).data);
    switch (node.reducer) {
    case Reducer::minimum:
    case Reducer::maximum: return filtered ? unknown(node.dtype, data) : integers(x, data);
    case Reducer::sum: {
        ValueInterval sum{saturated(filtered ? std::min(Wide(0), x.low * terms) : x.low * terms),
                          saturated(filtered ? std::max(Wide(0), x.high * terms) : x.high * terms)};
        ValueInterval limits = unknown(node.dtype, false).interval;
        bool fits = x.bounded() && sum.bounded() && sum.low >= limits.low && sum.high <= limits.high;
        return fits ? integers(sum, data) : unknown(node.dtype, data);
    }
    default: return unknown(node.dtype, true);
    }
}

}  // namespace heddle
