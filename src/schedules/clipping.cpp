#include "schedules/clipping.h"

#include <algorithm>
#include <limits>

#include "zspace/checked.h"

namespace heddle::schedules {
namespace {

bool is_guarded_by(Expr read, double wanted) {
    if (read->kind != Kind::guarded_read) return false;
    Expr literal = read->parts().back();
    return (literal->kind == Kind::integer ? static_cast<double>(literal->integer) : literal->real) == wanted;
}

// The guarded reads whose literal leaves the equation's reduction as it is.
std::vector<Expr> neutral_reads(const KernelEquation& e) {
    std::vector<Expr> found;
    double infinity = std::numeric_limits<double>::infinity();
    auto consider = [&](Expr at, double neutral) {
        while (at->kind == Kind::cast) at = at->parts()[0];
        if (is_guarded_by(at, neutral)) found.push_back(at);
    };
    if (*e.reducer == Reducer::sum && e.right->kind == Kind::scalar && e.right->op == ScalarOp::multiply) {
        for (Expr operand : e.right->parts()) consider(operand, 0);
    }
    if (*e.reducer == Reducer::sum) consider(e.right, 0);
    if (*e.reducer == Reducer::maximum && is_float(e.right->dtype)) consider(e.right, -infinity);
    if (*e.reducer == Reducer::minimum && is_float(e.right->dtype)) consider(e.right, infinity);
    return found;
}

// A guard that one range of a reduced axis can stand for, if the coordinate is of that form.
bool clip(const Kernel& kernel, const PhaseGroup& group, const CoordinateParts& c, ClippedGuard& guard) {
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
    for (Expr read : neutral_reads(e)) {
        for (size_t d = 0; d + 1 < read->operands.size(); d++) {  // the last operand stands for elements outside
            ClippedGuard guard{read, d, no_id, 1, kernel.tensor(read->tensor()).dimensions[d].extent, false};
            if (clip(kernel, group, parts_of(read->parts()[d]), guard)) guards.push_back(guard);
        }
    }
    return guards;
}

InteriorRows interior_rows(const Kernel& kernel, AxisId rows, const std::vector<ClippedGuard>& guards) {
    const Size extent = maximum(kernel.axis(rows).extent, 0);
    InteriorRows interior{0, extent};
    for (const ClippedGuard& guard : guards) {
        if (!guard.on_rows) continue;
        Expr coordinate = guard.value->parts()[guard.dimension];
        const Size constant = parts_of(coordinate).constant, reach = guard.factor * (kernel.axis(guard.reduced).extent - 1);
        const Size step = coefficient(coordinate, rows);
        interior.first = maximum(interior.first, ceil_divide(-constant, step));
        interior.last = minimum(interior.last, floor_divide(guard.extent - 1 - constant - reach, step) + 1);
    }
    interior.first = minimum(maximum(interior.first, 0), extent);
    interior.last = minimum(maximum(interior.last, interior.first), extent);
    return interior;
}

}  // namespace heddle::schedules
