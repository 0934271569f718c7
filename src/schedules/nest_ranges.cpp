// Where the loops of a nest begin and end.
#include <algorithm>

#include "schedules/nest_builder.h"
#include "target/choice_numbers.h"

namespace heddle::schedules {
namespace {

using Role = NumberId::Role;
using Subject = NumberSubject::Kind;

}  // namespace

// The extent that is a fact: of a window that has no origin.
std::optional<int64_t> Nest::window(AxisId axis) const {
    const Axis& a = assembly_.kernel.axis(axis);
    if (a.named || a.extent < 0) return std::nullopt;
    if (contains(group_.reduced, axis) && a.extent > 1 && a.extent <= choice_numbers::few_points) return a.extent;
    for (EquationIndex index : group_.reductions) {
        if (is_window(equation(index), axis)) return a.extent;
    }
    return std::nullopt;
}

Number Nest::inside(NumberId::Role role, AxisId axis, const Size& value) {
    return assembly_.numbers.integer(value, {role, {Subject::axis, axis}});
}

// The border is one range for both sides: its ends move with the side.
Range Nest::range(AxisId axis) {
    Range range = whole_range(axis);
    if (axis == group_.banded) assembly_.add_band(range, group_);
    for (const auto& [limited, end] : group_.limits) {
        if (limited == axis) range.upper.push_back(bound(assembly_.extent(end)));
    }
    const auto cut = std::ranges::find(part_.inside, axis, &Cut::axis);
    if (cut != part_.inside.end()) {
        range.lower.push_back(bound(inside(Role::first_inside, axis, cut->first)));
        range.upper.push_back(bound(inside(Role::end_inside, axis, cut->last)));
    }
    for (Expr coordinate : part_.below_zero) {
        if (is_innermost(coordinate, axis)) end_where_it_changes(range, axis, coordinate);
    }
    if (!part_.border || part_.border->axis != axis) return range;
    const Size extent = maximum(assembly_.kernel.axis(axis).extent, 0);
    const Number first = inside(Role::first_inside, axis, part_.border->first);
    const Number last = inside(Role::end_inside, axis, part_.border->last);
    const Number behind = inside(Role::behind_inside, axis, extent - part_.border->first);
    range.lower.push_back({{{}, {{side_, 1, last}}, {}}, {false, 1}});
    range.upper.push_back({{first, {{side_, 1, behind}}, {}}, {false, 1}});
    return range;
}

// Of n x + r < 0 for all other axes in r: x < -r / n, or x >= (r + 1) / -n.
void Nest::end_where_it_changes(Range& range, AxisId axis, Expr coordinate) {
    const Size step = coefficient(coordinate, axis), far = absolute(step);
    const NumberSubject where = assembly_.numbers.value(coordinate);
    const bool below = step > 0;
    const NumberId id = {below ? Role::upper_clip : Role::lower_clip, where};
    const Number divisor =
        far.same_as(1) ? Number{false, 1} : assembly_.numbers.integer(far, {Role::clip_divisor, where});
    Bound change = {expressions_.clipped(coordinate, axis, below ? 0 : 1, below ? -1 : 1, id), divisor};
    (below ? range.upper : range.lower).push_back(std::move(change));
}

// Of the coordinate's axes the last one that gets its loop.
bool Nest::is_innermost(Expr coordinate, AxisId axis) const {
    if (coefficient(coordinate, axis) == 0) return false;
    const CoordinateParts parts = parts_of(coordinate);
    return std::ranges::all_of(
        parts.axes, [&](const auto& part) { return part.first == axis || expressions_.is_bound(part.first); });
}

Range Nest::whole_range(AxisId axis) {
    const bool steps = std::ranges::any_of(assembly_.kernel.step_blocks,
                                           [&](const StepBlocks& blocks) { return blocks.steps == axis; });
    if (steps) return assembly_.steps(axis);
    if (axis == group_.parted) return assembly_.part(group_);
    auto task = assembly_.task_variables.find(axis);
    bool of_task = task != assembly_.task_variables.end() && contains(group_.axes, axis);
    const TaskCut* cut = assembly_.tasks.find(axis);
    if (of_task && (cut->fused.empty() || !group_.fused.empty()))
        return {{bound(task->second.first)}, {bound(task->second.second)}};
    if (auto extent = window(axis)) {
        std::string fact = "extent of " + assembly_.axis_name(axis) + " = " + std::to_string(*extent);
        if (std::find(tree_.facts.begin(), tree_.facts.end(), fact) == tree_.facts.end()) tree_.facts.push_back(fact);
        return {{bound(Number{})}, {bound(Number{false, *extent})}};
    }
    return {{bound(Number{})}, {bound(assembly_.extent(axis))}};
}

// Narrows the loop to where the guards that it stands for hold.
bool Nest::clip(For& loop, AxisId axis) {
    bool any = false;
    for (const ClippedGuard& guard : guards_) {
        if (guard.reduced != axis || (guard.on_rows && !border_)) continue;
        Expr c = guard.value->parts()[guard.dimension];
        const NumberSubject where = assembly_.numbers.value(guard.value).at(guard.dimension);
        Number divisor =
            guard.factor == 1 ? Number{false, 1} : assembly_.numbers.integer(guard.factor, {Role::clip_divisor, where});
        loop.range.lower.push_back({expressions_.clipped(c, axis, 0, -1, {Role::lower_clip, where}), divisor});
        loop.range.upper.push_back(
            {expressions_.clipped(c, axis, guard.extent, -1, {Role::upper_clip, where}), divisor});
        any = true;
    }
    return any;
}

// Narrows a range to what data leave of it, where that is one for the whole tile.
bool Nest::narrow(Range& range, AxisId axis) {
    bool any = false;
    for (const DataBound& bound : data_bounds_) {
        if (bound.reduced != axis) continue;
        Affine end;
        end.constant = {false, bound.offset};
        end.values.push_back({expressions_.value(bound.value), {false, 1}});
        (bound.upper ? range.upper : range.lower).push_back({std::move(end), {false, 1}});
        any = true;
    }
    return any;
}

}  // namespace heddle::schedules
