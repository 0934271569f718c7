#include "schedules/data_ranges.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "target/choice_numbers.h"

namespace heddle::schedules {
bool is_nothing(Expr value, Reducer reducer) {
    const NeutralTerm term = neutral(reducer, value->dtype);
    if (value->kind == Kind::integer) return value->integer == term.integer;
    return value->kind == Kind::real && value->real == term.real;
}

void conditions_of(const Kernel& kernel, Expr condition, std::vector<Expr>& found) {
    const bool lazy = condition->kind == Kind::select && condition->parts()[2]->kind == Kind::integer &&
                      condition->parts()[2]->integer == 0;
    const bool both = condition->kind == Kind::conjunction ||
                      (condition->kind == Kind::scalar && condition->op == ScalarOp::logical_and);
    if (!lazy && !both) return found.push_back(condition);
    conditions_of(kernel, condition->parts()[0], found);
    const auto reads = reads_of(condition->parts()[1]);
    const auto inside = [&](const ReadAccess& read) { return is_inside(kernel, read.value); };
    if (both || std::ranges::all_of(reads, inside)) conditions_of(kernel, condition->parts()[1], found);
}

namespace {

// What is read at coordinates that are no data themselves, and without a guard, may be read at any time.
bool is_readable(const Kernel& kernel, Expr value) {
    for (Expr e : walk(value)) {
        if (e->kind == Kind::guarded_read || e->kind == Kind::inside) return false;
        if (e->kind != Kind::read) continue;
        if (kernel.tensor(e->tensor()).role == KernelTensor::Role::local) return false;
        for (Expr coordinate : coordinates_of(e))
            if (coordinate->has_reads) return false;
    }
    return value->has_reads;
}

std::optional<DataBound> bound_of(const Kernel& kernel, const PhaseGroup& group, Expr condition) {
    if (condition->kind != Kind::scalar || condition->parts().size() != 2) return std::nullopt;
    Expr axis_side = condition->parts()[0], value = condition->parts()[1];
    ScalarOp op = condition->op;
    if (axis_side->has_reads) {
        std::swap(axis_side, value);
        op = op == ScalarOp::less            ? ScalarOp::greater
             : op == ScalarOp::less_equal    ? ScalarOp::greater_equal
             : op == ScalarOp::greater       ? ScalarOp::less
             : op == ScalarOp::greater_equal ? ScalarOp::less_equal
                                             : op;
    }
    if (axis_side->dtype != DType::int64 || axis_side->has_reads || !is_readable(kernel, value))
        return std::nullopt;
    const CoordinateParts parts = parts_of(axis_side);
    if (!parts.values.empty() || parts.axes.size() != 1 || parts.axes[0].second != 1) return std::nullopt;
    if (parts.constant.named()) return std::nullopt;  // a bound is a number of the text
    DataBound bound{parts.axes[0].first, false, value, -parts.constant.number()};
    if (!contains(group.reduced, bound.reduced)) return std::nullopt;
    for (AxisId axis : group.reduced)
        if (depends_on(value, axis)) return std::nullopt;
    switch (op) {
    case ScalarOp::less: bound.upper = true; return bound;
    case ScalarOp::less_equal: bound.upper = true, bound.offset += 1; return bound;
    case ScalarOp::greater: bound.offset += 1; return bound;
    case ScalarOp::greater_equal: return bound;
    default: return std::nullopt;
    }
}

bool is_same(const DataBound& a, const DataBound& b) {
    return a.reduced == b.reduced && a.upper == b.upper && a.value == b.value && a.offset == b.offset;
}

std::vector<Expr> conditions_of_terms(const Kernel& kernel, const KernelEquation& e) {
    std::vector<Expr> conditions;
    if (e.right->kind == Kind::select && (e.update || is_nothing(e.right->parts()[2], *e.reducer)))
        conditions_of(kernel, e.right->parts()[0], conditions);
    return conditions;
}

std::vector<DataBound> bounds_of(const Kernel& kernel, const PhaseGroup& group, const KernelEquation& e) {
    std::vector<DataBound> bounds;
    for (Expr condition : conditions_of_terms(kernel, e))
        if (auto bound = bound_of(kernel, group, condition)) bounds.push_back(*bound);
    return bounds;
}

// For a whole tile at once, of loops that are long.
bool bounds_loops(const Kernel& kernel, const PhaseGroup& group, Expr condition) {
    if (condition->kind != Kind::negative) return false;
    const CoordinateParts parts = parts_of(condition->parts()[0]);
    if (!parts.values.empty() || parts.axes.size() < 2) return false;
    bool any = false;
    for (const auto& [axis, factor] : parts.axes) {
        if (factor == INT64_MIN) return false;
        if (contains(group.reduced, axis)) {
            if (kernel.hint(axis) < choice_numbers::least_range_of_data) return false;
            any = true;
        } else if (axis == group.lanes || axis == group.rows || contains(group.fused, axis)) {
            return false;
        }
    }
    return any;
}

// What each reduction of the group has; nothing where they stand behind a stream.
template <typename Found, typename Of, typename Same>
std::vector<Found> of_all_reductions(const Kernel& kernel, const PhaseGroup& group, const Of& of, const Same& same) {
    if (group.reductions.empty() || !group.before.empty() || group.update) return {};
    std::vector<Found> shared;
    for (size_t i = 0; i < group.reductions.size(); ++i) {
        const KernelEquation& e = kernel.equations[static_cast<size_t>(group.reductions[i])];
        if (!e.reducer || is_argument(*e.reducer)) return {};
        const std::vector<Found> own = of(e);
        if (i == 0) shared = own;
        std::erase_if(shared, [&](const Found& one) {
            return std::ranges::none_of(own, [&](const Found& other) { return same(one, other); });
        });
    }
    return shared;
}

}  // namespace

std::vector<Expr> term_conditions(const Kernel& kernel, const PhaseGroup& group) {
    auto shared = of_all_reductions<Expr>(
        kernel, group, [&](const KernelEquation& e) { return conditions_of_terms(kernel, e); }, std::equal_to{});
    std::erase_if(shared, [&](Expr condition) { return !bounds_loops(kernel, group, condition); });
    return shared;
}

std::vector<Expr> conditions_of_data(const Kernel& kernel, const PhaseGroup& group, AxisId innermost) {
    if (innermost < 0 || kernel.hint(innermost) < choice_numbers::least_loop_of_condition) return {};
    auto asked = group.update
                     ? conditions_of_terms(kernel, kernel.equations[static_cast<size_t>(group.after.front())])
                     : of_all_reductions<Expr>(
                           kernel, group, [&](const KernelEquation& e) { return conditions_of_terms(kernel, e); },
                           std::equal_to{});
    std::erase_if(asked, [&](Expr condition) {
        std::vector<AxisId> tile = group.fused;
        for (AxisId axis : {innermost, group.lanes, group.rows}) tile.push_back(axis);
        const auto differs = [&](AxisId axis) { return axis >= 0 && depends_on(condition, axis); };
        return !is_readable(kernel, condition) || std::ranges::any_of(tile, differs);
    });
    return asked;
}

std::vector<DataBound> data_bounds(const Kernel& kernel, const PhaseGroup& group) {
    auto shared = of_all_reductions<DataBound>(
        kernel, group, [&](const KernelEquation& e) { return bounds_of(kernel, group, e); }, is_same);
    std::erase_if(shared, [&](const DataBound& bound) {
        return kernel.hint(bound.reduced) < choice_numbers::least_range_of_data;
    });
    return shared;
}

}  // namespace heddle::schedules
