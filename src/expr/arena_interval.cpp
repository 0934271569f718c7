#include "expr/arena_interval.h"

#include "expr/scalar_interval.h"

namespace heddle::expr {

Interval interval_of(const Interned& expression) {
    if (expression.dtype != DType::int64) return {};
    auto operand = [&](size_t i) { return interval(expression.parts()[i]); };
    const Interval literal = Interval::point(expression.integer);
    switch (expression.kind) {
    case Kind::integer: return literal;
    case Kind::variable: return Interval::below(std::max<int64_t>(expression.arena->extent(expression.axis()), 1));
    case Kind::linear: {
        IntervalSum sum(expression.integer);
        for (size_t i = 0; i < expression.operands.size(); i++) sum.add(expression.coefficients[i], operand(i));
        return sum.interval();
    }
    case Kind::floor_divide: return heddle::floor_divide(operand(0), literal);
    case Kind::modulo: return floor_modulo(operand(0), literal);
    case Kind::minimum: return heddle::minimum(operand(0), operand(1));
    case Kind::maximum: return heddle::maximum(operand(0), operand(1));
    case Kind::select: return hull(operand(1), operand(2));
    case Kind::cast: return heddle::interval_of(expression.parts()[0]->dtype);
    default: return {};
    }
}

}  // namespace heddle::expr
