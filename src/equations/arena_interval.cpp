#include "equations/arena_interval.h"

#include <algorithm>

#include "zspace/checked.h"

namespace heddle::equations {
namespace {

using Wide = __int128;

Interval interval_of_linear(const Expression& expression) {
    Wide low = expression.integer, high = expression.integer;
    bool known_low = true, known_high = true;
    for (size_t i = 0; i < expression.operands.size(); i++) {
        const Wide factor = expression.coefficients[i];
        const Interval term = interval(expression.operands[i]);
        const bool positive = factor > 0;
        known_low = known_low && (positive ? term.known_low() : term.known_high());
        known_high = known_high && (positive ? term.known_high() : term.known_low());
        low += factor * (positive ? term.low : term.high);
        high += factor * (positive ? term.high : term.low);
        // Keeps the wide sums far from their own limits; what is beyond int64 is given up below.
        const Wide limit = Wide(1) << 120;
        low = std::clamp(low, -limit, limit);
        high = std::clamp(high, -limit, limit);
    }
    if ((known_low && low <= INT64_MIN) || (known_high && high >= INT64_MAX)) return {};
    return {known_low ? static_cast<int64_t>(low) : INT64_MIN, known_high ? static_cast<int64_t>(high) : INT64_MAX};
}

}  // namespace

Interval interval_of_type(DType dtype) {
    const DTypeInfo& row = info(dtype);
    if (row.kind == DTypeClass::boolean) return {0, 1};
    if (row.kind == DTypeClass::floating || row.bits >= 64) return {};
    if (row.kind == DTypeClass::unsigned_integer) return {0, (int64_t(1) << row.bits) - 1};
    return {-(int64_t(1) << (row.bits - 1)), (int64_t(1) << (row.bits - 1)) - 1};
}

Interval interval_of(const Expression& expression, const Arena& arena) {
    if (expression.dtype != DType::int64) return {};
    auto operand = [&](size_t i) { return interval(expression.operands[i]); };
    switch (expression.kind) {
    case Kind::integer: return {expression.integer, expression.integer};
    case Kind::axis: return {0, std::max<int64_t>(arena.extent(static_cast<AxisId>(expression.integer)) - 1, 0)};
    case Kind::linear: return interval_of_linear(expression);
    case Kind::floor_divide: {
        const Interval x = operand(0);
        return {x.known_low() ? heddle::floor_divide(x.low, expression.integer) : INT64_MIN,
                x.known_high() ? heddle::floor_divide(x.high, expression.integer) : INT64_MAX};
    }
    case Kind::modulo: {
        const Interval x = operand(0);
        const int64_t divisor = expression.integer;
        if (x.known() && heddle::floor_divide(x.low, divisor) == heddle::floor_divide(x.high, divisor)) {
            return {floor_modulo(x.low, divisor), floor_modulo(x.high, divisor)};
        }
        return {0, divisor - 1};
    }
    case Kind::minimum: return {std::min(operand(0).low, operand(1).low), std::min(operand(0).high, operand(1).high)};
    case Kind::maximum: return {std::max(operand(0).low, operand(1).low), std::max(operand(0).high, operand(1).high)};
    case Kind::select: return {std::min(operand(1).low, operand(2).low), std::max(operand(1).high, operand(2).high)};
    case Kind::cast: return interval_of_type(expression.operands[0]->dtype);
    default: return {};
    }
}

}  // namespace heddle::equations
