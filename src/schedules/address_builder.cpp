// Coordinates and addresses: what is added up of variables and values, and how it moves from lane to lane.
#include <algorithm>

#include "schedules/builder.h"

namespace heddle::schedules {
namespace {

using Role = NumberId::Role;
using Subject = NumberSubject::Kind;

}  // namespace

void ExpressionBuilder::add_term(Affine& affine, AxisId axis, int64_t scale, Number number) {
    auto found = bound_.find(axis);
    if (found == bound_.end() || scale == 0) return;
    affine.terms.push_back({found->second, scale, number});
}

Size ExpressionBuilder::stride_value(TensorIndex tensor, size_t dimension) const {
    if (assembly_.kernel.tensor(tensor).role != KernelTensor::Role::local) {
        return assembly_.kernel.tensor(tensor).dimensions[dimension].stride;
    }
    Number number = assembly_.array_strides[static_cast<size_t>(tensor)][dimension];
    return number.launch ? assembly_.result.launch.numbers[static_cast<size_t>(number.value)] : Size(number.value);
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
        Size total = 0, factor = 0;
        for (size_t d = 0; d < coordinates.size(); d++) {
            const auto found = std::ranges::find(coordinates[d].axes, axis, &std::pair<AxisId, Size>::first);
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
            const bool falls = factor.same_as(-1) && unit && group_.transposed && axis == group_.rows;
            if ((group_.windowed && !factor.named()) || interleaves || falls || (factor.same_as(1) && (local || unit))) {
                add_term(affine, axis, factor, stride(tensor, moving[0]));
                continue;
            }
        }
        add_term(affine, axis, 1, assembly_.numbers.integer(total, {Role::stride, {Subject::tensor, tensor}, axis}));
    }
}

// Memory decides where it lies.
bool ExpressionBuilder::is_checked(TensorIndex tensor, const CoordinateParts& coordinate) const {
    auto reads = [](const auto& part) { return part.first->has_reads; };
    return !trusts_data_ && tensor != trusted_ && std::ranges::any_of(coordinate.values, reads);
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
                const Number number = factor.same_as(1) ? stride(tensor, d)
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
    if (!c.constant.same_as(0) || c.is_constant())
        affine.constant = assembly_.numbers.integer(c.constant, {Role::constant, where});
    for (const auto& [axis, factor] : c.axes) {
        if (factor.same_as(1) || factor.same_as(-1) || (group_.windowed && !factor.named())) {
            add_term(affine, axis, factor, {false, 1});
        } else {
            add_term(affine, axis, 1, assembly_.numbers.integer(factor, {Role::coefficient, where, axis}));
        }
    }
    for (const auto& [part, factor] : c.values) {
        Number number =
            factor.same_as(1) ? Number{false, 1} : assembly_.numbers.integer(factor, {Role::value_coefficient, where});
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

Affine ExpressionBuilder::clipped(Expr coordinate, AxisId without, const Size& constant, int64_t sign, const NumberId& id) {
    const CoordinateParts c = parts_of(coordinate);
    Affine affine;
    affine.constant = assembly_.numbers.integer(constant + sign * c.constant, id);
    for (const auto& [axis, factor] : c.axes) {
        if (axis == without) continue;
        Number number =
            factor.same_as(1) ? Number{false, 1} : assembly_.numbers.integer(factor, {id.role, id.subject, axis});
        add_term(affine, axis, sign, number);
    }
    return affine;
}

Access ExpressionBuilder::access(const Affine& element, ExpressionId guard) const {
    const auto indexes = [&](const auto& part) { return depends(part.first, Variable::Kind::lane); };
    const auto indexed = std::ranges::count_if(element.values, indexes);
    const bool own = assembly_.target.has_workgroups();  // each lane has an address of its own
    if (indexed > 0) return !own && indexed == 1 && is_consecutive(element) ? Access::consecutive : Access::indexed;
    int lanes = 0, rows = 0;
    bool unit = false, interleaving = false, row_unit = false;
    for (const Term& term : element.terms) {
        Variable::Kind kind = assembly_.result.tree.variable(term.variable).kind;
        bool one = term.scale == 1 && term.number.is(1);
        if (kind == Variable::Kind::lane)
            lanes++, unit = one, interleaving = is_interleaving(term.scale) && term.number.is(1);
        if (kind == Variable::Kind::row) rows++, row_unit = std::abs(term.scale) == 1 && term.number.is(1);
    }
    if (lanes == 0) return Access::uniform;
    if (lanes == 1 && unit) return Access::contiguous;
    if (lanes == 1 && interleaving && !own) return Access::interleaved;
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
    Size offset = 0;
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
    const Size apart = group_.lanes < 0 || coordinates.empty() ? Size(0) : coefficient(coordinates.back(), group_.lanes);
    const bool lies_between =
        result.access == Access::interleaved || (result.access == Access::strided && is_row_of_neighbours(apart));
    const bool is_neighbour =
        lies_between && offset == affine.back().constant && offset >= 0 && offset < absolute(apart);
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
    auto extent_of = [&](AxisId axis) { return greater(0, kernel.axis(axis).extent); };
    const NumberSubject packed = {Subject::packed, operand.tensor, -1, operand.index};
    Address result;
    result.access = Access::packed;
    for (size_t i = 0; i < assembly_.result.buffers.size(); i++) {
        if (assembly_.result.buffers[i].packing == operand.index) result.memory = MemoryId(i);
    }
    Size stride = operand.panel;
    for (size_t i = operand.inner.size(); i-- > 0;) {
        AxisId axis = axis_of(operand.inner[i]);
        bool last = i + 1 == operand.inner.size();
        Number number = last ? Number{false, stride.value()} : assembly_.numbers.integer(stride, {Role::stride, packed, axis});
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

}  // namespace heddle::schedules
