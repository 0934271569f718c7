#include <algorithm>

#include "expr/coordinate.h"
#include "schedules/builder.h"
#include "zspace/checked.h"

namespace heddle::schedules {
namespace {

using Role = NumberId::Role;

bool is_zero(const Expression& e) {
    return (e.kind == Expression::Kind::integer && e.integer == 0) || (e.kind == Expression::Kind::real && e.real == 0);
}

}  // namespace

void ExpressionBuilder::bind(AxisId axis, VariableId variable) {
    bound_[axis] = variable;
    built_.clear();
}

// What was defined at its points is none of another loop's over the same axis.
void ExpressionBuilder::unbind(AxisId axis) {
    bound_.erase(axis);
    std::erase_if(defined_, [&](const auto& definition) {
        return std::ranges::find(definition.second.first->axes, axis) != definition.second.first->axes.end();
    });
    built_.clear();
}

void ExpressionBuilder::define(const KernelEquation& equation, ExpressionId value) {
    defined_[equation.tensor] = {&equation, value};
    built_.clear();
}

void ExpressionBuilder::clear_guards(std::set<std::pair<uint32_t, size_t>> dimensions) {
    cleared_ = std::move(dimensions);
    built_.clear();
    asks_guard_.clear();
}

ExpressionId ExpressionBuilder::cast(ExpressionId value, DType dtype) {
    const Expression& from = assembly_.result.tree.expression(value);
    if (from.dtype == dtype) return value;
    Expression e;
    e.kind = Expression::Kind::cast;
    e.dtype = dtype;
    e.operands = {value};
    return assembly_.intern(e);
}

ExpressionId ExpressionBuilder::value(Expr e, ExpressionId guard) {
    if (auto found = built_.find({e->id, guard}); found != built_.end()) return found->second;
    const ExpressionId result = built(e, guard);
    built_[{e->id, guard}] = result;
    return result;
}

ExpressionId ExpressionBuilder::built(Expr e, ExpressionId guard) {
    switch (e->kind) {
    case Kind::integer:
    case Kind::real: return literal(e);
    case Kind::variable:
    case Kind::linear: return index(parts_of(e), e->dtype, assembly_.numbers.value(e), guard);
    case Kind::cast: return cast(value(e->parts()[0], guard), e->dtype);
    case Kind::select: return select(e, guard);
    case Kind::inside: return inside(e, guard);
    case Kind::read: return read(e, guard);
    case Kind::guarded_read: return guarded_read(e, guard);
    default: return scalar(e, guard);
    }
}

// What the model's data gave is a launch number.
ExpressionId ExpressionBuilder::literal(Expr e) {
    const bool real = e->kind == Kind::real;
    Expression result;
    result.dtype = info(e->dtype).arithmetic;
    if (e->from_template) {
        result.kind = real ? Expression::Kind::real : Expression::Kind::integer;
        result.integer = e->integer;
        result.real = e->real;
    } else {
        const NumberId id = {Role::literal, assembly_.numbers.value(e)};
        result.kind = Expression::Kind::number;
        result.number = real ? assembly_.numbers.real(e->real, id) : assembly_.numbers.integer(e->integer, id);
    }
    return cast(assembly_.intern(result), e->dtype);
}

// x % n of 0 <= x < 3 n, a place that is wrapped: n is taken off, twice at most. No division. -1: not so.
ExpressionId ExpressionBuilder::wrapped(Expr v, ExpressionId guard) {
    if (v->kind != Kind::modulo || v->integer < 1) return no_id;
    Expr coordinate = v->parts()[0];
    const auto range = parts_of(coordinate).values.empty() ? interval(assembly_.kernel, coordinate) : std::nullopt;
    const auto most = checked_multiply(v->integer, 3);
    if (!range || !most || !range->within(0, *most - 1)) return no_id;
    const auto joined = [&](Expression::Kind kind, ScalarOp op, DType dtype, std::vector<ExpressionId> operands) {
        Expression e;
        e.kind = kind;
        e.op = op;
        e.dtype = dtype;
        e.operands = std::move(operands);
        return assembly_.intern(e);
    };
    Expression divisor;
    divisor.kind = Expression::Kind::number;
    divisor.dtype = DType::int64;
    divisor.number = assembly_.numbers.integer(v->integer, {Role::literal, assembly_.numbers.value(v)});
    const ExpressionId n = assembly_.intern(divisor);
    ExpressionId place = value(coordinate, guard);
    for (int round = 0; round < 2; round++) {
        const ExpressionId less = joined(Expression::Kind::scalar, ScalarOp::less, DType::boolean, {place, n});
        const ExpressionId rest = joined(Expression::Kind::scalar, ScalarOp::subtract, DType::int64, {place, n});
        place = joined(Expression::Kind::select, ScalarOp::add, DType::int64, {less, place, rest});
    }
    return place;
}

// Operations on values, and on coordinates and conditions. A divisor is a launch number.
ExpressionId ExpressionBuilder::scalar(Expr v, ExpressionId guard) {
    if (const ExpressionId place = wrapped(v, guard); place >= 0) return place;
    Expression e;
    e.kind = Expression::Kind::scalar;
    e.op = operation_of(*v);
    // Arithmetic on types that are only stored is done in a wider one, and rounded or wrapped.
    e.dtype = info(v->dtype).arithmetic;
    for (Expr operand : v->parts()) {
        ExpressionId built = v->kind == Kind::negative ? compared(operand, guard) : value(operand, guard);
        e.operands.push_back(cast(built, info(assembly_.result.tree.expression(built).dtype).arithmetic));
    }
    Expression second;
    second.kind = Expression::Kind::integer;  // zero
    second.dtype = DType::int64;
    if (v->kind == Kind::negative) {
        second.dtype = assembly_.result.tree.expression(e.operands[0]).dtype;
        e.operands.push_back(assembly_.intern(second));
    } else if (v->kind == Kind::floor_divide || v->kind == Kind::modulo) {
        second.kind = Expression::Kind::number;
        second.number = assembly_.numbers.integer(v->integer, {Role::literal, assembly_.numbers.value(v)});
        e.operands.push_back(assembly_.intern(second));
    }
    return cast(assembly_.intern(e), v->dtype);
}

// Each branch is computed; where it reads beyond bounds it reads under its condition.
ExpressionId ExpressionBuilder::select(Expr v, ExpressionId guard) {
    ExpressionId condition = value(v->parts()[0], guard);
    Expression e;
    e.kind = Expression::Kind::select;
    e.dtype = v->dtype;
    const bool guards_then = asks_guard(v->parts()[1]), guards_else = asks_guard(v->parts()[2]);
    ExpressionId then = value(v->parts()[1], guards_then ? conjunction(guard, condition) : guard);
    ExpressionId otherwise = value(v->parts()[2], guards_else ? conjunction(guard, negation(condition)) : guard);
    e.operands = {condition, then, otherwise};
    return assembly_.intern(e);
}

namespace {

// The step of a state that is kept in few places.
bool takes_turns(Expr coordinate, const Size& places) {
    return coordinate->kind == Kind::scalar && coordinate->op == ScalarOp::modulo &&
           coordinate->parts()[1]->kind == Kind::integer && coordinate->parts()[1]->integer == places;
}

}  // namespace

// Something that is read may lie outside. Else a value is one whatever guards it: choices in choices stay small.
bool ExpressionBuilder::asks_guard(Expr v) {
    if (const auto known = asks_guard_.find(v->id); known != asks_guard_.end()) return known->second;
    bool asks = !trusts_data_ && v->is_read() && std::ranges::any_of(coordinates_of(v), &expr::Interned::has_reads);
    if (v->kind == Kind::read)
        asks = asks || !is_inside(v);
    else
        for (Expr part : v->parts()) asks = asks || asks_guard(part);
    return asks_guard_[v->id] = asks;
}

// Every coordinate lies inside the tensor, with its margins, for all points of the axes: also one that is clamped or
// mirrored.
bool ExpressionBuilder::is_inside(Expr read) const {
    const KernelTensor& t = assembly_.kernel.tensor(read->tensor());
    for (size_t d = 0; d < t.dimensions.size(); d++) {
        if (cleared_.contains({read->id, d}) || takes_turns(read->parts()[d], t.dimensions[d].extent)) continue;
        if (trusts_data_ && read->parts()[d]->has_reads) continue;
        const auto range = interval(assembly_.kernel, read->parts()[d]);
        const BufferDimension& dimension = t.dimensions[d];
        if (!range || !range->within(-dimension.margin_before, dimension.extent + dimension.margin_after - 1))
            return false;
    }
    return true;
}

ExpressionId ExpressionBuilder::load(Expr v, ExpressionId guard) {
    Expression e;
    e.kind = Expression::Kind::load;
    e.dtype = v->dtype;
    e.address = address(v->tensor(), coordinates_of(v), assembly_.numbers.value(v), guard);
    if (guard >= 0) e.operands = {guard};
    return assembly_.intern(e);
}

ExpressionId ExpressionBuilder::read(Expr v, ExpressionId guard) {
    if (auto found = defined_.find(v->tensor()); found != defined_.end()) {
        const auto& [equation, value] = found->second;
        const bool has_steps = equation->ordered >= 0 || equation->vector_steps.steps >= 0;
        if (!has_steps || coordinates_of(v) == equation->left) return value;  // else of another step
    }
    for (const PackedOperand& operand : group_.packed) {
        if (operand.read != v) continue;
        Expression e;
        e.kind = Expression::Kind::load;
        e.dtype = v->dtype;
        e.address = packed_address(operand);
        return assembly_.intern(e);
    }
    return load(v, guard >= 0 && is_inside(v) ? no_id : guard);
}

// Each dimension that may be left has its condition.
ExpressionId ExpressionBuilder::guarded_read(Expr v, ExpressionId guard) {
    const KernelTensor& t = assembly_.kernel.tensor(v->tensor());
    const NumberSubject where = assembly_.numbers.value(v);
    ExpressionId inside = no_id;
    for (size_t d = 0; d < t.dimensions.size(); d++) {
        if (cleared_.contains({v->id, d}) || !needs_guard(assembly_.kernel, v, d)) continue;
        Expression e;
        e.kind = Expression::Kind::inside;
        e.dtype = DType::boolean;
        const NumberSubject place = where.at(d);
        e.operands = {index(parts_of(v->parts()[d]), DType::int64, place, guard)};
        e.number = assembly_.numbers.integer(t.dimensions[d].extent, {Role::extent, place});
        inside = conjunction(inside, assembly_.intern(e));
    }
    if (inside < 0) return load(v, no_id);
    // Where it is inside, a place that no data say costs nothing to read, wanted or not: what branches share is one.
    const bool plain = std::ranges::none_of(coordinates_of(v), &expr::Interned::has_reads);
    ExpressionId loaded = load(v, plain ? inside : conjunction(guard, inside));
    ExpressionId otherwise = value(v->parts().back(), guard);
    if (is_zero(assembly_.result.tree.expression(otherwise))) return loaded;
    Expression e;
    e.kind = Expression::Kind::select;
    e.dtype = v->dtype;
    e.operands = {inside, loaded, otherwise};
    return assembly_.intern(e);
}

}  // namespace heddle::schedules
