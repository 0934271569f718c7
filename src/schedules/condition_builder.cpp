// Conditions of expressions at one place of a nest.
#include "schedules/builder.h"

namespace heddle::schedules {
namespace {

using Role = NumberId::Role;

}  // namespace

ExpressionId ExpressionBuilder::conjunction(ExpressionId a, ExpressionId b) {
    if (a < 0 || a == b) return b;
    if (b < 0) return a;
    Expression e;
    e.kind = Expression::Kind::scalar;
    e.op = ScalarOp::logical_and;
    e.dtype = DType::boolean;
    e.operands = {a, b};
    return assembly_.intern(e);
}

ExpressionId ExpressionBuilder::negation(ExpressionId a) {
    Expression e;
    e.kind = Expression::Kind::scalar;
    e.op = ScalarOp::logical_not;
    e.dtype = DType::boolean;
    e.operands = {a};
    return assembly_.intern(e);
}

ExpressionId ExpressionBuilder::inside(Expr v, ExpressionId guard) {
    const NumberSubject where = assembly_.numbers.value(v);
    Expression e;
    e.kind = Expression::Kind::inside;
    e.dtype = DType::boolean;
    e.operands = {index(parts_of(v->parts()[0]), DType::int64, where, guard)};
    e.number = assembly_.numbers.integer(v->integer, {Role::bound, where});
    return assembly_.intern(e);
}

// Coordinates that fit are compared in 32 bits: as many of them are in a vector as of floats.
ExpressionId ExpressionBuilder::compared(Expr coordinate, ExpressionId guard) {
    constexpr int64_t most = int64_t{1} << 30;
    const bool plain = coordinate->kind == Kind::variable || coordinate->kind == Kind::linear;
    const auto range = plain ? interval(assembly_.kernel, coordinate) : std::nullopt;
    if (range && range->within(-most, most))
        return index(parts_of(coordinate), DType::int32, assembly_.numbers.value(coordinate), guard);
    const ExpressionId digit = compared_digit(coordinate, guard);
    return digit >= 0 ? digit : value(coordinate, guard);
}

// n x + m of x % 2 or x % 4 that differs from lane to lane: a mask of the lanes' parity, in 32 bits. -1: not so.
ExpressionId ExpressionBuilder::compared_digit(Expr coordinate, ExpressionId guard) {
    constexpr int64_t most = int64_t{1} << 30;
    const CoordinateParts parts = parts_of(coordinate);
    if (!parts.axes.empty() || parts.values.size() != 1 || group_.lanes < 0) return no_id;
    const auto& [digit, factor] = parts.values[0];
    const auto is_small = [](const Size& n) { return !n.named() && n > -1024 && n < 1024; };
    const bool masks = digit->kind == Kind::modulo && (digit->integer.same_as(2) || digit->integer.same_as(4));
    if (!masks || !is_small(factor) || !is_small(parts.constant) || coefficient(digit->parts()[0], group_.lanes) == 0)
        return no_id;
    Expr counted = digit->parts()[0];
    const bool plain = parts_of(counted).values.empty();
    const auto range = plain ? interval(assembly_.kernel, counted) : std::nullopt;
    if (!range || !range->within(-most, most)) return no_id;
    const auto joined = [&](ScalarOp op, ExpressionId a, ExpressionId b) {
        Expression e;
        e.kind = Expression::Kind::scalar;
        e.op = op;
        e.dtype = DType::int32;
        e.operands = {a, b};
        return assembly_.intern(e);
    };
    const auto number = [&](int64_t value, NumberId::Role role) {
        Expression e;
        e.kind = Expression::Kind::number;
        e.dtype = DType::int32;
        e.number = assembly_.numbers.integer(value, {role, assembly_.numbers.value(coordinate)});
        return assembly_.intern(e);
    };
    Expression mask;
    mask.kind = Expression::Kind::integer;
    mask.dtype = DType::int32;
    mask.integer = digit->integer - 1;
    const ExpressionId index_of = index(parts_of(counted), DType::int32, assembly_.numbers.value(counted), guard);
    const ExpressionId value = joined(ScalarOp::bit_and, index_of, assembly_.intern(mask));
    const ExpressionId scaled =
        factor == 1 ? value : joined(ScalarOp::multiply, value, number(factor, Role::value_coefficient));
    return joined(ScalarOp::add, scaled, number(parts.constant, Role::constant));
}

}  // namespace heddle::schedules
