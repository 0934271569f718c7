#include "schedules/unchanged.h"

#include <algorithm>
#include <optional>

#include "expr/remake.h"
#include "schedules/data_ranges.h"
#include "schedules/folding.h"
#include "target/choice_numbers.h"

namespace heddle::schedules {

Expr where_answered(Arena& arena, Expr root, Expr condition, bool holds) {
    Arena::Memo memo;
    Expr answer = arena.truth(holds);
    const auto given = [&](Expr e) {
        return e == condition ? answer : e->is_read() || e->parts().empty() ? e : nullptr;
    };
    return expr::remade(
        root, memo, given, [](Expr e) { return e->parts(); },
        [&](Expr e, std::vector<Expr> operands) { return folded(arena, e, std::move(operands)); });
}

namespace {

// The element that the equation replaces, if it reads it.
Expr replaced(const KernelEquation& e) {
    for (const ReadAccess& read : reads_of(e.right)) {
        if (read.tensor == e.tensor && read.value->kind == Kind::read && coordinates_of(read.value) == e.left)
            return read.value;
    }
    return nullptr;
}

// c < 0 of plain axes, or what memory decides.
bool is_asked(Expr e) {
    if (e->kind == Kind::negative) return true;
    return is_bool(e->dtype) && e->kind != Kind::select && !is_logic(e) && e->has_reads;
}

std::vector<Change> changes_of(const Kernel& kernel, const KernelEquation& e) {
    constexpr size_t most_conditions = 16;
    std::vector<Change> found;
    Expr old = replaced(e);
    if (!old) return found;
    size_t tried = 0;
    for (Expr condition : expr::walk(e.right)) {
        if (condition == old || !is_asked(condition) || tried++ == most_conditions) continue;
        for (const bool holds : {false, true}) {
            if (where_answered(*kernel.arena, e.right, condition, !holds) == old) found.push_back({condition, holds});
        }
    }
    return found;
}

// Its value is one for the whole nest, and may be read before it.
bool is_of_step(const Kernel& kernel, const PhaseGroup& group, Expr condition) {
    double points = 1;
    for (const auto* axes : {&group.axes, &group.reduced}) {
        for (AxisId axis : *axes) points *= static_cast<double>(std::max<int64_t>(1, kernel.hint(axis)));
    }
    if (points < choice_numbers::least_skipped_points) return false;
    const auto moves = [&](AxisId axis) { return depends_on(condition, axis); };
    if (std::ranges::any_of(group.axes, moves) || std::ranges::any_of(group.reduced, moves)) return false;
    return std::ranges::all_of(expr::walk(condition), [&](Expr e) {
        if (e->kind == Kind::guarded_read || e->kind == Kind::inside) return false;
        return e->kind != Kind::read || is_inside(kernel, e);
    });
}

bool is_of_axes(const PhaseGroup& group, Expr condition) {
    if (condition->kind != Kind::negative || !parts_of(condition->parts()[0]).values.empty()) return false;
    return std::ranges::any_of(group.axes, [&](AxisId axis) {
        const Size step = coefficient(condition->parts()[0], axis);
        return step != 0 && step.number() != INT64_MIN;
    });
}

// c of `c < 0`, or what is below 0 where it is not.
Expr below_zero(Arena& arena, const Change& change) {
    Expr c = change.condition->parts()[0];
    return change.holds ? c : arena.add(arena.integer(-1), c, -1);
}

// Of two bounds that differ by a number the weaker one, which holds where either changes something.
std::optional<Change> weaker(Arena& arena, const Change& a, const Change& b) {
    if (a.condition == b.condition && a.holds == b.holds) return a;
    if (a.condition->kind != Kind::negative || b.condition->kind != Kind::negative) return std::nullopt;
    Expr apart = arena.add(below_zero(arena, a), below_zero(arena, b), -1);
    if (apart->kind != Kind::integer) return std::nullopt;
    return apart->integer <= 0 ? a : b;
}

std::vector<Change> shared_by(Arena& arena, const std::vector<Change>& some, const std::vector<Change>& others) {
    std::vector<Change> result;
    for (const Change& change : some) {
        for (const Change& other : others) {
            const auto found = weaker(arena, change, other);
            if (!found) continue;
            result.push_back(*found);
            break;
        }
    }
    return result;
}

Changes changes_of_update(const Kernel& kernel, const PhaseGroup& group) {
    std::vector<Expr> conditions;
    const KernelEquation& e = kernel.equations[static_cast<size_t>(group.after.front())];
    conditions_of(kernel, e.right->parts()[0], conditions);
    const auto may_change = [&](const ReadAccess& read) {
        return read.tensor == e.tensor || kernel.tensor(read.tensor).shares == e.tensor;
    };
    Changes result;
    for (Expr condition : conditions) {
        if (condition->is_literal() || !is_of_step(kernel, group, condition)) continue;
        if (std::ranges::none_of(reads_of(condition), may_change)) result.of_step.push_back({condition, true});
    }
    return result;
}

}  // namespace

Changes changes(const Kernel& kernel, const PhaseGroup& group, const std::vector<LocalStorage>& storage) {
    if (group.vector_steps >= 0 || group.ordered < 0) return {};
    if (group.update) return changes_of_update(kernel, group);
    std::optional<std::vector<Change>> shared;
    for (EquationIndex index : group.equations()) {
        const KernelEquation& e = kernel.equations[static_cast<size_t>(index)];
        const auto kind = storage[static_cast<size_t>(e.tensor)].kind;
        if (kind == LocalStorage::Kind::in_register || kind == LocalStorage::Kind::unused) continue;
        const std::vector<Change> own = e.reducer ? std::vector<Change>() : changes_of(kernel, e);
        shared = shared ? shared_by(*kernel.arena, *shared, own) : own;
    }
    Changes result;
    for (const Change& change : shared.value_or(std::vector<Change>())) {
        if (is_of_step(kernel, group, change.condition)) {
            result.of_step.push_back(change);
        } else if (is_of_axes(group, change.condition)) {
            result.of_axes.push_back(below_zero(*kernel.arena, change));
        }
    }
    return result;
}

}  // namespace heddle::schedules
