#include "schedules/clipping.h"

#include <algorithm>
#include <limits>

namespace heddle::schedules {
namespace {

int64_t divide_up(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }
int64_t divide_down(int64_t a, int64_t b) { return -divide_up(-a, b); }

ValueIndex below_casts(const Kernel& kernel, ValueIndex index) {
    while (kernel.value(index).kind == Value::Kind::cast) index = kernel.value(index).operands[0];
    return index;
}

bool is_literal(const Kernel& kernel, const Value& read, double wanted) {
    const Value& literal = kernel.value(read.operands[0]);
    if (literal.kind == Value::Kind::integer) return static_cast<double>(literal.integer) == wanted;
    return literal.kind == Value::Kind::real && literal.real == wanted;
}

// The guarded reads whose literal leaves the equation's reduction as it is.
std::vector<ValueIndex> neutral_reads(const Kernel& kernel, const KernelEquation& e) {
    std::vector<ValueIndex> found;
    double infinity = std::numeric_limits<double>::infinity();
    auto consider = [&](ValueIndex index, double neutral) {
        ValueIndex at = below_casts(kernel, index);
        if (kernel.value(at).kind == Value::Kind::guarded_read && is_literal(kernel, kernel.value(at), neutral))
            found.push_back(at);
    };
    const Value& right = kernel.value(e.right);
    if (*e.reducer == Reducer::sum && right.kind == Value::Kind::scalar && right.op == ScalarOp::multiply) {
        for (ValueIndex operand : right.operands) consider(operand, 0);
    }
    if (*e.reducer == Reducer::sum) consider(e.right, 0);
    if (*e.reducer == Reducer::maximum && is_float(right.dtype)) consider(e.right, -infinity);
    if (*e.reducer == Reducer::minimum && is_float(right.dtype)) consider(e.right, infinity);
    return found;
}

// A guard that one range of a reduced axis can stand for, if the coordinate is of that form.
bool clip(const Kernel& kernel, const PhaseGroup& group, const Coordinate& c, ClippedGuard& guard) {
    if (!c.values.empty()) return false;
    bool others = false;
    for (const auto& [axis, factor] : c.axes) {
        if (axis == group.lanes || contains(group.fused, axis)) return false;
        if (contains(group.loops, axis)) {
            if (guard.reduced >= 0 || factor < 1) return false;
            guard.reduced = axis;
            guard.factor = factor;
        } else if (axis == group.rows) {
            if (factor < 1) return false;
            guard.on_rows = true;
        } else {
            others = true;
        }
    }
    return guard.reduced >= 0 && !(guard.on_rows && others) && kernel.axis(guard.reduced).extent > 0;
}

}  // namespace

std::vector<ClippedGuard> clipped_guards(const Kernel& kernel, const PhaseGroup& group) {
    std::vector<ClippedGuard> guards;
    // One loop serves all reductions of the phase: a clipped term must be nothing to each of them.
    if (group.lanes_reduced || group.lanes < 0 || group.reductions.size() != 1 || !group.before.empty()) return guards;
    const KernelEquation& e = kernel.equations[static_cast<size_t>(group.reductions[0])];
    for (ValueIndex index : neutral_reads(kernel, e)) {
        const Value& read = kernel.value(index);
        for (size_t d = 0; d < read.coordinates.size(); d++) {
            ClippedGuard guard{index, d, -1, 1, kernel.tensor(read.tensor).dimensions[d].extent, false};
            if (clip(kernel, group, read.coordinates[d], guard)) guards.push_back(guard);
        }
    }
    return guards;
}

Interior interior_rows(const Kernel& kernel, AxisIndex rows, const std::vector<ClippedGuard>& guards) {
    int64_t extent = std::max<int64_t>(0, kernel.axis(rows).extent);
    Interior interior{0, extent};
    for (const ClippedGuard& guard : guards) {
        if (!guard.on_rows) continue;
        const Coordinate& c = kernel.value(guard.value).coordinates[guard.dimension];
        int64_t step = coefficient(c, rows), reach = guard.factor * (kernel.axis(guard.reduced).extent - 1);
        interior.first = std::max(interior.first, divide_up(-c.constant, step));
        interior.last = std::min(interior.last, divide_down(guard.extent - 1 - c.constant - reach, step) + 1);
    }
    interior.first = std::clamp<int64_t>(interior.first, 0, extent);
    interior.last = std::clamp<int64_t>(interior.last, interior.first, extent);
    return interior;
}

}  // namespace heddle::schedules
