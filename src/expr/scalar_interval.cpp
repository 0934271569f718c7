#include "expr/scalar_interval.h"

#include <algorithm>
#include <bit>

#include "zspace/class_order.h"

namespace heddle {
namespace {

// What `op` says of the signs that a - b may have.
Interval decided(const ScalarOpInfo& row, bool negative, bool zero, bool positive) {
    Interval result{1, 0};
    const std::pair<bool, int64_t> signs[] = {{negative, -1}, {zero, 0}, {positive, 1}};
    for (const auto& [possible, sign] : signs) {
        const Size holds = row.integer(sign, 0);
        if (possible) result = {std::min(result.low, holds), std::max(result.high, holds)};
    }
    return result;
}

// Of two truths every pair is looked at; of integers that are not negative no bit is above those of both.
Interval bitwise(const ScalarOpInfo& row, const Interval& a, const Interval& b) {
    if (a.within(0, 1) && b.within(0, 1)) {
        Interval result = Interval::point(row.integer(a.low, b.low));
        for (int64_t x : {a.low.value(), a.high.value()}) {
            for (int64_t y : {b.low.value(), b.high.value()}) result = hull(result, Interval::point(row.integer(x, y)));
        }
        return result;
    }
    if (a.low < 0 || b.low < 0 || !a.known() || !b.known()) return {};
    const auto bits = std::bit_width(static_cast<uint64_t>(a.high.value() | b.high.value()));
    return {0, static_cast<int64_t>((uint64_t{1} << bits) - 1)};
}

// Between the results of the ends, in any order. Our own code may be wrong by some units in the last place.
RealInterval between(const ScalarOpInfo& row, std::initializer_list<double> results) {
    for (double result : results) {
        if (std::isnan(result)) return {};
    }
    const auto [low, high] = std::minmax(results);
    if (row.ulps <= 0.5) return {low, high};
    const double relative = row.ulps * 0x1p-52;
    return {low - std::fabs(low) * relative, high + std::fabs(high) * relative};
}

RealInterval of_corners(const ScalarOpInfo& row, RealInterval a, RealInterval b) {
    return between(
        row, {row.real(a.low, b.low), row.real(a.low, b.high), row.real(a.high, b.low), row.real(a.high, b.high)});
}

}  // namespace

Interval interval_of(DType dtype) {
    const DTypeInfo& row = info(dtype);
    if (row.kind == DTypeClass::boolean) return {0, 1};
    if (!is_integer(dtype) || row.bits >= 64) return {};
    if (row.kind == DTypeClass::unsigned_integer) return {0, (int64_t{1} << row.bits) - 1};
    return {-(int64_t{1} << (row.bits - 1)), (int64_t{1} << (row.bits - 1)) - 1};
}

bool holds(DType dtype, const Interval& values) {
    return dtype == DType::uint64 ? values.low >= 0 : values.within(interval_of(dtype));
}

Interval interval_of(ScalarOp op, const Interval& a, const Interval& b) {
    const ScalarOpInfo& row = info(op);
    switch (row.interval) {
    case IntervalRule::sum: return a + b;
    case IntervalRule::difference: return a - b;
    case IntervalRule::product: return a * b;
    case IntervalRule::floor_quotient: return floor_divide(a, b);
    case IntervalRule::floor_remainder: return floor_modulo(a, b);
    case IntervalRule::truncated_quotient: return truncated_divide(a, b);
    case IntervalRule::truncated_remainder: return truncated_remainder(a, b);
    case IntervalRule::least: return minimum(a, b);
    case IntervalRule::greatest: return maximum(a, b);
    case IntervalRule::bits: return bitwise(row, a, b);
    case IntervalRule::bit_count:
        return {0, a.known() && a.low >= 0 ? static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(a.high.value()))) : 64};
    case IntervalRule::comparison: {
        const bool meet = !a.is_empty() && !b.is_empty() && !is_always_below(a.high, b.low) && !is_always_below(b.high, a.low);
        return decided(row, !is_never_above(b.high, a.low), meet, !is_never_above(a.high, b.low));
    }
    case IntervalRule::truth: return {0, 1};
    case IntervalRule::negation: return -a;
    case IntervalRule::magnitude: return magnitude(a);
    case IntervalRule::monotone: {
        if (!row.integer) return {};
        const int64_t first = row.integer(a.low, 0), last = row.integer(a.high, 0);
        return {std::min(first, last), std::max(first, last)};
    }
    case IntervalRule::quotient:
    case IntervalRule::wave:
    case IntervalRule::none: return {};
    }
    return {};
}

RealInterval interval_of(ScalarOp op, RealInterval a, RealInterval b) {
    const ScalarOpInfo& row = info(op);
    if (!a.known() || !b.known() || !row.real) return {};
    switch (row.interval) {
    // Rounding is monotone: the ends of the exact interval, rounded, bound every rounded value.
    case IntervalRule::sum:
    case IntervalRule::difference:
    case IntervalRule::product: return of_corners(row, a, b);
    case IntervalRule::quotient: return b.low <= 0 && b.high >= 0 ? RealInterval{} : of_corners(row, a, b);
    case IntervalRule::least:
    case IntervalRule::greatest: return {row.real(a.low, b.low), row.real(a.high, b.high)};
    case IntervalRule::negation:
    case IntervalRule::monotone: return between(row, {row.real(a.low, 0), row.real(a.high, 0)});
    case IntervalRule::magnitude:
        return {a.low <= 0 && a.high >= 0 ? 0 : std::min(std::fabs(a.low), std::fabs(a.high)),
                std::max(std::fabs(a.low), std::fabs(a.high))};
    case IntervalRule::wave: return std::isinf(a.low) || std::isinf(a.high) ? RealInterval{} : between(row, {-1, 1});
    default: return {};
    }
}

Interval interval_of_comparison(ScalarOp op, RealInterval a, RealInterval b) {
    if (!a.known() || !b.known()) return {0, 1};
    return decided(info(op), a.low < b.high, a.low <= b.high && b.low <= a.high, a.high > b.low);
}

}  // namespace heddle
