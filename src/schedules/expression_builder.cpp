#include <algorithm>

#include "expr/coordinate.h"
#include "schedules/builder.h"
#include "zspace/checked.h"

namespace heddle::schedules {
namespace {

using Role = NumberId::Role;
using Subject = NumberSubject::Kind;

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

void ExpressionBuilder::add_term(Affine& affine, AxisId axis, int64_t scale, Number number) {
    auto found = bound_.find(axis);
    if (found == bound_.end() || scale == 0) return;
    affine.terms.push_back({found->second, scale, number});
}

int64_t ExpressionBuilder::stride_value(TensorIndex tensor, size_t dimension) const {
    if (assembly_.kernel.tensor(tensor).role != KernelTensor::Role::local) {
        return assembly_.kernel.tensor(tensor).dimensions[dimension].stride;
    }
    Number number = assembly_.array_strides[static_cast<size_t>(tensor)][dimension];
    return number.launch ? assembly_.result.launch.numbers[static_cast<size_t>(number.value)] : number.value;
}

Number ExpressionBuilder::stride(TensorIndex tensor, size_t dimension) {
    const KernelTensor& t = assembly_.kernel.tensor(tensor);
    if (t.role == KernelTensor::Role::local) return assembly_.array_strides[static_cast<size_t>(tensor)][dimension];
    Movements movements(assembly_.kernel, assembly_.storage);
    if (movements.unit_dimension(tensor) == static_cast<int>(dimension)) return {false, 1};
    return assembly_.numbers.integer(t.dimensions[dimension].stride,
                                     {Role::stride, NumberSubject{Subject::tensor, tensor}.at(dimension)});
}

// One term an axis: its coefficient in the address is one launch number, or one in the text. Where windows are facts a
// term stands for each dimension, the coordinate's own coefficient in the text.
void ExpressionBuilder::add_axis_strides(Affine& affine, TensorIndex tensor,
                                         const std::vector<CoordinateParts>& coordinates) {
    std::vector<AxisId> axes;
    for (const CoordinateParts& c : coordinates) {
        for (const auto& [axis, unused] : c.axes) {
            if (!contains(axes, axis)) axes.push_back(axis);
        }
    }
    for (AxisId axis : axes) {
        std::vector<size_t> moving;
        int64_t total = 0, factor = 0;
        for (size_t d = 0; d < coordinates.size(); d++) {
            const auto found = std::ranges::find(coordinates[d].axes, axis, &std::pair<AxisId, int64_t>::first);
            if (found == coordinates[d].axes.end()) continue;
            moving.push_back(d);
            factor = found->second;
            total += factor * stride_value(tensor, d);
        }
        if (moving.size() == 1) {
            bool local = assembly_.kernel.tensor(tensor).role == KernelTensor::Role::local;
            Movements movements(assembly_.kernel, assembly_.storage);
            bool unit = movements.unit_dimension(tensor) == static_cast<int>(moving[0]);
            const bool interleaves =
                axis == group_.lanes && unit && (is_interleaving(factor) || is_row_of_neighbours(factor));
            if (group_.windowed || interleaves || (factor == 1 && (local || unit))) {
                add_term(affine, axis, factor, stride(tensor, moving[0]));
                continue;
            }
        }
        add_term(affine, axis, 1, assembly_.numbers.integer(total, {Role::stride, {Subject::tensor, tensor}, axis}));
    }
}

// Memory decides where it lies.
bool ExpressionBuilder::is_checked(TensorIndex tensor, const CoordinateParts& coordinate) const {
    auto reads = [](const auto& part) { return contains_read(part.first); };
    return tensor != trusted_ && std::ranges::any_of(coordinate.values, reads);
}

// Integer values in coordinates; those that memory decides are checked against the dimension.
void ExpressionBuilder::add_values(Affine& affine, TensorIndex tensor, const std::vector<CoordinateParts>& coordinates,
                                   const NumberSubject& where, ExpressionId guard) {
    const KernelTensor& t = assembly_.kernel.tensor(tensor);
    for (size_t d = 0; d < coordinates.size(); d++) {
        const CoordinateParts& c = coordinates[d];
        if (c.values.empty()) continue;
        const NumberSubject place = where.at(d);
        if (!is_checked(tensor, c)) {
            for (const auto& [part, factor] : c.values) {
                const Number number = factor == 1 ? stride(tensor, d)
                                                  : assembly_.numbers.integer(factor * stride_value(tensor, d),
                                                                              {Role::value_stride, place});
                affine.values.push_back({cast(value(part, guard), DType::int64), number});
            }
            continue;
        }
        Expression check;
        check.kind = Expression::Kind::check;
        check.dtype = DType::int64;
        check.integer = assembly_.memories[static_cast<size_t>(tensor)];
        check.number = assembly_.numbers.integer(t.dimensions[d].extent, {Role::extent, place});
        check.operands = {index(c, DType::int64, place, guard)};
        if (guard >= 0) check.operands.push_back(guard);
        affine.values.push_back({assembly_.intern(check), stride(tensor, d)});
    }
}

// What a coordinate reads is read, and checked, only where the read that it is for is made.
Affine ExpressionBuilder::coordinate(const CoordinateParts& c, const NumberSubject& where, ExpressionId guard) {
    Affine affine;
    if (c.constant != 0 || c.is_constant())
        affine.constant = assembly_.numbers.integer(c.constant, {Role::constant, where});
    for (const auto& [axis, factor] : c.axes) {
        if (factor == 1 || factor == -1 || group_.windowed) {
            add_term(affine, axis, factor, {false, 1});
        } else {
            add_term(affine, axis, 1, assembly_.numbers.integer(factor, {Role::coefficient, where, axis}));
        }
    }
    for (const auto& [part, factor] : c.values) {
        Number number =
            factor == 1 ? Number{false, 1} : assembly_.numbers.integer(factor, {Role::value_coefficient, where});
        affine.values.push_back({cast(value(part, guard), DType::int64), number});
    }
    return affine;
}

ExpressionId ExpressionBuilder::index(const CoordinateParts& c, DType dtype, const NumberSubject& where,
                                      ExpressionId guard) {
    Expression e;
    e.kind = Expression::Kind::index;
    e.dtype = dtype;
    e.affine = coordinate(c, where, guard);
    return assembly_.intern(e);
}

Access ExpressionBuilder::access(const Affine& element, ExpressionId guard) const {
    const auto indexes = [&](const auto& part) { return depends(part.first, Variable::Kind::lane); };
    const auto indexed = std::ranges::count_if(element.values, indexes);
    if (indexed > 0) return indexed == 1 && is_consecutive(element) ? Access::consecutive : Access::indexed;
    int lanes = 0, rows = 0;
    bool unit = false, interleaving = false, row_unit = false;
    for (const Term& term : element.terms) {
        Variable::Kind kind = assembly_.result.tree.variable(term.variable).kind;
        bool one = term.scale == 1 && term.number.is(1);
        if (kind == Variable::Kind::lane)
            lanes++, unit = one, interleaving = is_interleaving(term.scale) && term.number.is(1);
        if (kind == Variable::Kind::row) rows++, row_unit = one;
    }
    if (lanes == 0) return Access::uniform;
    if (lanes == 1 && unit) return Access::contiguous;
    if (lanes == 1 && interleaving) return Access::interleaved;
    bool values_move = std::any_of(element.values.begin(), element.values.end(),
                                   [&](const auto& part) { return depends(part.first, Variable::Kind::row); });
    bool guard_moves = guard >= 0 && depends(guard, Variable::Kind::row);
    if (group_.transposed && rows == 1 && row_unit && !values_move && !guard_moves) return Access::transposed;
    return Access::strided;
}

// How an integer goes from lane to lane.
enum class ExpressionBuilder::Growth : uint8_t { none, by_one, by_one_in_32_bits };

// In 32 bits it may leave the type between two lanes: then one of them is below zero. What is added to it in 64 bits
// would bring both inside.
ExpressionBuilder::Growth ExpressionBuilder::growth(ExpressionId id) const {
    const Expression& e = assembly_.result.tree.expression(id);
    if (e.dtype != DType::int32 && e.dtype != DType::int64) return Growth::none;
    const auto moves = [&](ExpressionId part) { return depends(part, Variable::Kind::lane); };
    if (e.kind == Expression::Kind::check) return growth(e.operands[0]);
    if (e.kind == Expression::Kind::cast) {
        const Growth inside = growth(e.operands[0]);
        return inside == Growth::by_one && e.dtype == DType::int32 ? Growth::by_one_in_32_bits : inside;
    }
    if (e.kind == Expression::Kind::scalar && (e.op == ScalarOp::add || e.op == ScalarOp::subtract)) {
        const bool second = e.op == ScalarOp::add && moves(e.operands[1]);
        if (moves(e.operands[second ? 0 : 1])) return Growth::none;
        const Growth inside = growth(e.operands[second ? 1 : 0]);
        return inside == Growth::by_one_in_32_bits && e.dtype == DType::int64 ? Growth::none : inside;
    }
    if (e.kind != Expression::Kind::index) return Growth::none;
    return growth(e.affine);
}

ExpressionBuilder::Growth ExpressionBuilder::growth(const Affine& affine) const {
    int lanes = 0, others = 0;
    Growth found = Growth::none;
    for (const Term& term : affine.terms) {
        const bool of_lanes = assembly_.result.tree.variable(term.variable).kind == Variable::Kind::lane;
        (of_lanes ? lanes : others)++;
        if (of_lanes && term.scale == 1 && term.number.is(1)) found = Growth::by_one;
    }
    for (const auto& [part, factor] : affine.values) {
        const bool of_lanes = depends(part, Variable::Kind::lane);
        (of_lanes ? lanes : others)++;
        if (of_lanes && factor.is(1)) found = growth(part);
    }
    const bool alone = others == 0 && affine.constant.is(0);
    return lanes != 1 || (found == Growth::by_one_in_32_bits && !alone) ? Growth::none : found;
}

// Of a place that is checked, the check says that it is inside, whatever stands beside it in the address.
bool ExpressionBuilder::is_consecutive(const Affine& element) const {
    for (const auto& [part, factor] : element.values) {
        if (!depends(part, Variable::Kind::lane)) continue;
        const bool checked = assembly_.result.tree.expression(part).kind == Expression::Kind::check;
        const Growth found = checked && factor.is(1) ? growth(part) : growth(element);
        if (found == Growth::none) return false;
    }
    return std::ranges::none_of(element.terms, [&](const Term& term) {
        return assembly_.result.tree.variable(term.variable).kind == Variable::Kind::lane;
    });
}

Address ExpressionBuilder::address(TensorIndex tensor, Coordinates coordinates, const NumberSubject& where,
                                   ExpressionId guard) {
    const LocalStorage& storage = assembly_.storage[static_cast<size_t>(tensor)];
    if (storage.kind == LocalStorage::Kind::output) {
        const auto& equation = assembly_.kernel.equations[static_cast<size_t>(storage.target_equation)];
        return address(storage.target, equation.left, where, guard);
    }
    Address result;
    result.memory = assembly_.memories[static_cast<size_t>(tensor)];
    std::vector<CoordinateParts> parts, affine;
    int64_t offset = 0;
    bool constant = false;
    for (size_t d = 0; d < coordinates.size(); d++) {
        const CoordinateParts& c = parts.emplace_back(parts_of(coordinates[d]));
        const bool checked = is_checked(tensor, c);
        affine.push_back(checked ? CoordinateParts() : c);  // a checked coordinate is one value of the address
        if (checked || (c.constant == 0 && !c.is_constant())) continue;
        constant = true;
        offset += c.constant * stride_value(tensor, d);
    }
    add_axis_strides(result.element, tensor, affine);
    add_values(result.element, tensor, parts, where, guard);
    result.access = access(result.element, guard);
    // One of the neighbours of a lane's element is known to be that.
    const int64_t apart = group_.lanes < 0 || coordinates.empty() ? 0 : coefficient(coordinates.back(), group_.lanes);
    const bool lies_between =
        result.access == Access::interleaved || (result.access == Access::strided && is_row_of_neighbours(apart));
    const bool is_neighbour =
        lies_between && offset == affine.back().constant && offset >= 0 && offset < std::abs(apart);
    if (is_neighbour)
        result.element.constant = {false, offset};
    else if (constant)
        result.element.constant = assembly_.numbers.integer(offset, {Role::offset, where});
    return result;
}

// Only loads are transposed in registers.
Address ExpressionBuilder::store_address(const KernelEquation& equation, ExpressionId guard) {
    NumberSubject store = {Subject::store, equation.tensor};
    for (const KernelEquation& other : assembly_.kernel.equations) {
        if (&other == &equation) break;
        if (other.tensor == equation.tensor) store.piece++;
    }
    Address result = address(equation.tensor, equation.left, store, guard);
    if (result.access == Access::transposed) result.access = Access::strided;
    if (result.access == Access::consecutive) result.access = Access::indexed;
    return result;
}

Address ExpressionBuilder::packed_address(const PackedOperand& operand) {
    const Kernel& kernel = assembly_.kernel;
    auto axis_of = [&](int d) { return lone_axis(operand.read->parts()[static_cast<size_t>(d)]); };
    auto extent_of = [&](AxisId axis) { return std::max<int64_t>(0, kernel.axis(axis).extent); };
    const NumberSubject packed = {Subject::packed, operand.tensor, -1, operand.index};
    Address result;
    result.access = Access::packed;
    for (size_t i = 0; i < assembly_.result.buffers.size(); i++) {
        if (assembly_.result.buffers[i].packing == operand.index) result.memory = MemoryId(i);
    }
    int64_t stride = operand.panel;
    for (size_t i = operand.inner.size(); i-- > 0;) {
        AxisId axis = axis_of(operand.inner[i]);
        bool last = i + 1 == operand.inner.size();
        Number number = last ? Number{false, stride} : assembly_.numbers.integer(stride, {Role::stride, packed, axis});
        add_term(result.element, axis, 1, number);
        stride *= extent_of(axis);
    }
    AxisId lanes = axis_of(operand.lane_dimension);
    add_term(result.element, lanes, 1, assembly_.numbers.integer(stride / operand.panel, {Role::depth, packed}));
    stride *= (extent_of(lanes) + operand.panel - 1) / operand.panel;
    for (size_t i = operand.outer.size(); i-- > 0;) {
        AxisId axis = axis_of(operand.outer[i]);
        add_term(result.element, axis, 1, assembly_.numbers.integer(stride, {Role::stride, packed, axis}));
        stride *= extent_of(axis);
    }
    return result;
}

bool ExpressionBuilder::depends(ExpressionId id, Variable::Kind kind) const {
    const Tree& tree = assembly_.result.tree;
    std::vector<bool> seen(tree.expressions.size());
    std::vector<ExpressionId> open{id};
    auto is_kind = [&](VariableId variable) {
        Variable::Kind k = tree.variable(variable).kind;
        return k == kind || (kind == Variable::Kind::row && k == Variable::Kind::fused_row);
    };
    while (!open.empty()) {
        ExpressionId at = open.back();
        open.pop_back();
        if (seen[static_cast<size_t>(at)]) continue;
        seen[static_cast<size_t>(at)] = true;
        const Expression& e = tree.expression(at);
        for (const Affine* affine : {&e.affine, &e.address.element}) {
            for (const Term& term : affine->terms) {
                if (is_kind(term.variable)) return true;
            }
            for (const auto& [part, factor] : affine->values) open.push_back(part);
        }
        open.insert(open.end(), e.operands.begin(), e.operands.end());
        if (e.kind == Expression::Kind::let) open.push_back(tree.let(e.let_id()).value);
        if (e.kind == Expression::Kind::before && kind == Variable::Kind::lane &&
            tree.accumulator(e.accumulator_id()).width > 1)
            return true;
        if (e.kind == Expression::Kind::accumulator) {
            const Accumulator& accumulator = tree.accumulator(e.accumulator_id());
            if (kind == Variable::Kind::row ? group_.rows >= 0 : !accumulator.reduced_lanes && accumulator.width > 1)
                return true;
        }
    }
    return false;
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
bool takes_turns(Expr coordinate, int64_t places) {
    return coordinate->kind == Kind::scalar && coordinate->op == ScalarOp::modulo &&
           coordinate->parts()[1]->kind == Kind::integer && coordinate->parts()[1]->integer == places;
}

}  // namespace

// Something that is read may lie outside. Else a value is one whatever guards it: choices in choices stay small.
bool ExpressionBuilder::asks_guard(Expr v) {
    if (const auto known = asks_guard_.find(v->id); known != asks_guard_.end()) return known->second;
    bool asks = v->is_read() && std::ranges::any_of(coordinates_of(v), contains_read);
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

Affine ExpressionBuilder::clipped(Expr coordinate, AxisId without, int64_t constant, int64_t sign, const NumberId& id) {
    const CoordinateParts c = parts_of(coordinate);
    Affine affine;
    affine.constant = assembly_.numbers.integer(constant + sign * c.constant, id);
    for (const auto& [axis, factor] : c.axes) {
        if (axis == without) continue;
        Number number = factor == 1 ? Number{false, 1} : assembly_.numbers.integer(factor, {id.role, id.subject, axis});
        add_term(affine, axis, sign, number);
    }
    return affine;
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
    const bool plain = std::ranges::none_of(coordinates_of(v), contains_read);
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
