#include "plan/kernel_former.h"

#include <algorithm>
#include <ranges>

#include "equations/pass_support.h"
#include "equations/written_terms.h"
#include "plan/former.h"
#include "plan/merge_axes.h"

namespace heddle::plan {

using namespace equations;
namespace sched = heddle::schedules;

FormedKernel KernelFormer::form() {
    result_.kernel.representatives = system_.representatives;
    for (auto [axis, number] : axis_classes(system_, request_.kernel)) axes_[axis] = sched::AxisId(number.number());
    find_joined_scatters();
    add_axes();
    add_tensors();
    for (bool first : {true, false}) {
        for (int32_t e : request_.kernel.equations) {
            if (!joined_.contains(e) && comes_first(e) == first) add_equation(e);
        }
    }
    for (const auto& common : request_.kernel.common) add_common(common);
    merge_axes(result_.kernel, hints_);
    return std::move(result_);
}

// Single numbers that need nothing of the kernel do not stand between equations that may share a loop.
bool KernelFormer::comes_first(int32_t e) const {
    const Equation& equation = system_.equation(e);
    if (!equation.axes.empty() || !equation.reduced.empty() || equation.scan >= 0 || into_.contains(e)) return false;
    return std::ranges::none_of(reads(equation), [&](Expr read) { return written_here(read->tensor()); });
}

// A common axis whose classes could not all be joined, or along which data choose what is updated, is left out: fewer
// common axes are always right.
void KernelFormer::add_common(const Kernel::CommonAxis& common) {
    std::set<sched::AxisId> found;
    for (auto [equation, axis] : common.axis_of) {
        if (axis >= 0) found.insert(axes_.at({equation, axis}));
    }
    auto& list = result_.kernel.common;
    if (found.size() == 1 && chosen_.contains(*found.begin())) return;
    if (found.size() == 1 && std::find(list.begin(), list.end(), *found.begin()) == list.end())
        list.push_back(*found.begin());
}

size_t KernelFormer::axis_count() const {
    size_t count = 0;
    for (auto [axis, own] : axes_) count = std::max(count, static_cast<size_t>(own) + 1);
    return count;
}

void KernelFormer::add_axes() {
    std::vector<Axis> axes(axis_count());
    for (auto [axis, own] : axes_) {
        auto& to = axes[own];
        to.extent = arena_.extent(axis.axis);
        to.hint = std::max({int64_t{1}, to.hint, arena_.hint(axis.axis)});
        to.named |= arena_.axis(axis.axis).named;
    }
    for (Axis& axis : axes) result_.kernel.add_axis(std::move(axis));
}

// Scatters whose terms go straight to the elements that an equation of the kernel makes: they have no tensor.
void KernelFormer::find_joined_scatters() {
    for (int32_t e : request_.kernel.equations) {
        const Equation& equation = system_.equation(e);
        const bool in_place = request_.in_place.contains(equation.tensor);
        auto into = in_place ? overwriting(system_, equation) : scatter_into(system_, equation);
        if (!into) continue;
        if (into->scatter >= 0) {
            const bool here = inside_.contains(into->scatter) && !is_buffer(system_.equation(into->scatter).tensor);
            if (!here) continue;
            joined_.insert(into->scatter);
        }
        if (in_place) hidden_.insert(into->initial->tensor());
        add_own_axes(e, *into);
        into_.emplace(e, std::move(*into));
    }
}

// Axes that no equation has.
void KernelFormer::add_own_axes(int32_t e, const ScatterInto& into) {
    if (into.scatter >= 0) return;
    sched::AxisId next(axis_count());
    for (AxisId axis : into.reduced) axes_[{e, axis}] = next++;
}

void KernelFormer::add_equation(int32_t e) {
    const Equation& from = system_.equation(e);
    equation_ = e;
    memo_.clear();
    if (auto into = into_.find(e); into != into_.end()) return add_scatter(from, into->second);
    if (auto scatter = scatter_of(system_, from)) {
        const ScatterInto itself{e, from.reduced, from.right->parts()[2], joining_op(*from.reducer),
                                 std::move(*scatter)};
        return add_scatter(from, itself);
    }
    if (add_changes(from)) return;
    sched::KernelEquation to;
    to.tensor = index_.at(from.tensor);
    for (AxisId axis : from.axes) {
        if (axis != from.ordered) to.axes.push_back(axes_.at({e, axis}));
    }
    if (from.scan >= 0) to.ordered = axes_.at({e, from.ordered});
    for (AxisId axis : from.reduced) to.reduced.push_back(axes_.at({e, axis}));
    to.reducer = from.reducer;
    to.light = request_.kernel.light.contains(e);
    to.left = coordinates(from.tensor, from.left);
    to.right = value(from.right);
    result_.kernel.equations.push_back(std::move(to));
}

// Two equations: one fills, if the values are not there already, and one updates.
void KernelFormer::add_scatter(const Equation& from, const ScatterInto& into) {
    maker_ = into.scatter;
    if (!request_.in_place.contains(from.tensor)) {
        sched::KernelEquation fill;
        fill.tensor = index_.at(from.tensor);
        fill.light = request_.kernel.light.contains(equation_);
        if (from.scan >= 0) fill.ordered = axis_of(from.ordered);
        for (AxisId axis : from.axes) {
            if (axis != from.ordered) fill.axes.push_back(axis_of(axis));
        }
        fill.left = coordinates(from.tensor, from.left);
        fill.right = value(into.initial);
        result_.kernel.equations.push_back(std::move(fill));
    }
    add_update(from, into.update, into.reduced, into.join);
    maker_ = -1;
}

// What holds the step before in the place of this one is kept: only the changes are written. The first that holds
// counts, so it is made last.
bool KernelFormer::add_changes(const Equation& from) {
    if (request_.kept[static_cast<size_t>(from.tensor)].places != 1) return false;
    const std::vector<Scatter> changes = changes_of(system_, from);
    if (changes.empty() || !are_apart(changes, from.tensor)) return false;
    for (const Scatter& change : std::views::reverse(changes)) add_update(from, change, {}, {});
    return true;
}

void KernelFormer::add_update(const Equation& from, const Scatter& to, const std::vector<AxisId>& reduced,
                              std::optional<ScalarOp> join) {
    sched::KernelEquation update;
    update.tensor = index_.at(from.tensor);
    update.light = request_.kernel.light.contains(equation_);
    if (from.scan >= 0) update.ordered = axis_of(from.ordered);
    for (AxisId axis : from.axes) {
        if (axis == from.ordered) continue;
        if (to.chooses(axis))
            chosen_.insert(axis_of(axis));
        else
            update.axes.push_back(axis_of(axis));
    }
    update.update = true;
    for (AxisId axis : reduced) update.reduced.push_back(axis_of(axis));
    std::vector<Expr> at = from.left;
    Arena& arena = *result_.kernel.arena;
    Expr condition = nullptr;
    for (size_t d = 0; d < at.size(); d++) {
        if (!to.at[d]) continue;
        at[d] = to.at[d];
        Expr inside = within(from.left[d], at[d]);
        condition = condition ? arena.conjunction(condition, inside) : inside;
    }
    // What else is asked for may read where the data choose: only if that is inside.
    if (to.condition->kind != Kind::integer || to.condition->integer == 0)
        condition = arena.select(condition, value(to.condition), arena.truth(false));
    update.left = coordinates(from.tensor, at);
    const DType dtype = system_.tensor(from.tensor).dtype;
    Expr before = arena.read(update.tensor, dtype, update.left), after = value(to.term);
    if (join) after = equations::with_term(arena, *join, before, after);
    update.right = arena.select(condition, after, before);
    result_.kernel.equations.push_back(std::move(update));
}

std::optional<ScatterInto> overwriting(const System& system, const Equation& equation) {
    auto into = scatter_into(system, equation);
    if (!into) into = block_into(system, equation);
    if (!into || into->initial->kind != Kind::read || coordinates_of(into->initial) != equation.left)
        return std::nullopt;
    const TensorIndex old = into->initial->tensor();
    std::vector<Expr> parts = into->update.at;
    parts.insert(parts.end(), {into->update.condition, into->update.term});
    for (Expr part : parts) {
        if (!part) continue;
        for (Expr node : walk(part)) {
            if (node->is_read() && node->tensor() == old) return std::nullopt;
        }
    }
    const SystemTensor &from = system.tensor(old), &to = system.tensor(equation.tensor);
    if (from.dtype != to.dtype || from.shape != to.shape || to.equations.size() != 1) return std::nullopt;
    return into;
}

FormedKernel form_kernel(const FormRequest& request) { return KernelFormer(request).form(); }

}  // namespace heddle::plan
