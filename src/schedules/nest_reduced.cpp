// Loops over reduced axes. Where a condition asks of such an axis and of the tile's points, `k < i`, the loop is cut:
// in most of it the condition has one answer for the whole tile.
#include <algorithm>
#include <cstdlib>

#include "expr/remake.h"
#include "schedules/nest_builder.h"
#include "target/choice_numbers.h"

namespace heddle::schedules {

using Role = NumberId::Role;

// A condition that has one answer for the whole innermost loop is asked before it, and is gone from what it holds: not
// from what comes after a reduction, which runs whatever the answer was.
void Nest::ask_outside(AxisId innermost) {
    asked_ = conditions_of_data(assembly_.kernel, group_, innermost);
    for (auto& [index, right] : sides_.of)
        if (group_.update || std::ranges::find(group_.after, index) == group_.after.end())
            right = where_it_holds(right);
}

Expr Nest::where_it_holds(Expr e) {
    if (asked_.empty()) return e;
    Arena& arena = *assembly_.kernel.arena;
    Arena::Memo memo;
    const auto given = [&](Expr part) -> Expr {
        if (part->kind == Kind::variable) return part;
        return std::ranges::find(asked_, part) != asked_.end() ? arena.truth(true) : nullptr;
    };
    const auto make = [&](Expr like, std::vector<Expr> operands) { return arena.rebuild(like, std::move(operands)); };
    return expr::remade(e, memo, given, [](Expr part) { return operands_of(part); }, make);
}

// A loop of one round or none for each.
Block Nest::where_asked(const Inner& inner) {
    Arena& arena = *assembly_.kernel.arena;
    std::vector<For> rounds;
    for (Expr condition : asked_) {
        For once;
        once.variable = assembly_.variable("once", Variable::Kind::loop);
        Affine end;
        end.values.push_back(
            {expressions_.value(arena.select(condition, arena.integer(1), arena.integer(0))), {false, 1}});
        once.range = {{Bound{}}, {Bound{std::move(end), {false, 1}}}};
        rounds.push_back(std::move(once));
    }
    Block body = inner();
    for (; !rounds.empty(); rounds.pop_back()) {
        rounds.back().body = std::move(body);
        body = {Statement{std::move(rounds.back())}};
    }
    return body;
}

Block Nest::reduced_loops(size_t depth, const Inner& inner) {
    if (depth == group_.loops.size()) return group_.lanes_reduced ? where_asked(inner) : inner();
    if (depth + 1 == group_.loops.size() && !group_.lanes_reduced)
        return where_asked([&] { return reduced_loop(depth, inner); });
    return reduced_loop(depth, inner);
}

Block Nest::reduced_loop(size_t depth, const Inner& inner) {
    const AxisId axis = group_.loops[depth];
    For loop;
    loop.range = range(axis);
    const bool moves = std::ranges::any_of(part_.below_zero, [&](Expr c) { return is_innermost(c, axis); });
    const bool narrowed = narrow(loop.range, axis) || moves;
    const bool clipped = clip(loop, axis) || narrowed;
    return reduced_parts({axis, loop.range, clipped, 1}, [&] { return reduced_loops(depth + 1, inner); });
}

Block Nest::reduced_parts(const ReducedLoop& of, const Inner& inner) {
    if (Expr asked = asked_of_tile(of)) return cut_where_it_changes(of, asked, inner);
    if (of.copies > 1 && adds_nothing()) return {};
    For loop;
    loop.variable = assembly_.variable(assembly_.axis_name(of.axis), Variable::Kind::loop);
    loop.range = of.range;
    const auto extent = window(of.axis);
    expressions_.bind(of.axis, loop.variable);
    loop.body = inner();
    loop.until = ends_of_reduction(loop.body, false);
    expressions_.unbind(of.axis);
    if (!of.clipped && !group_.lanes_reduced && may_unroll(loop.body, extent.value_or(0))) loop.unrolled = *extent;
    return {Statement{std::move(loop)}};
}

// How far points of a tile are apart in the coordinate: from its first point on, by [low, high].
Nest::Spread Nest::spread_in_tile(Expr coordinate) const {
    Spread spread;
    const auto add = [&](AxisId axis, int64_t points) {
        const int64_t moved = coefficient(coordinate, axis) * (points - 1);
        (moved < 0 ? spread.low : spread.high) += moved;
    };
    if (group_.lanes >= 0 && !group_.lanes_reduced) add(group_.lanes, int64_t{group_.vectors} * group_.width);
    if (group_.rows >= 0) add(group_.rows, group_.row_sizes.front());
    return spread;
}

// The coordinate of a condition or a guard by which a loop is cut, if the tile's points differ in it at a small part of
// the loop alone, and if the code stays short; else null.
Expr Nest::asked_of_tile(const ReducedLoop& loop) const {
    int64_t rows = group_.rows < 0 ? 1 : 0;
    for (int size : group_.row_sizes) rows += group_.rows < 0 ? 0 : size;
    constexpr int64_t parts = 3;
    const int64_t written = parts * loop.copies * group_.term_size * group_.vectors * rows;
    if (border_ || !group_.fused.empty() || written > choice_numbers::unrolled_code) return nullptr;
    return moving_coordinate(assembly_.kernel, sides_, [&](Expr coordinate) {
        constexpr int64_t far = int64_t{1} << 32;
        // How far the tile's points are from one another is a number of the code.
        const auto is_near = [&](const auto& part) {
            return !part.second.named() && part.second > -far && part.second < far;
        };
        const CoordinateParts parts = parts_of(coordinate);
        if (!std::ranges::all_of(parts.axes, is_near) || !is_innermost(coordinate, loop.axis)) return false;
        const int64_t step = std::abs(coefficient(coordinate, loop.axis));
        const Spread spread = spread_in_tile(coordinate);
        const int64_t apart = spread.high - spread.low;
        return apart > 0 && apart <= step * (assembly_.kernel.hint(loop.axis) / choice_numbers::share_of_mixed_terms);
    });
}

// Before the points where the tile's differ, there, and behind them.
Block Nest::cut_where_it_changes(const ReducedLoop& loop, Expr below_zero, const Inner& inner) {
    Arena& arena = *assembly_.kernel.arena;
    const int64_t step = coefficient(below_zero, loop.axis);
    const Spread spread = spread_in_tile(below_zero);
    const bool grows = step > 0;  // below 0 before
    const NumberSubject where = assembly_.numbers.value(below_zero);
    const Number divisor =
        std::abs(step) == 1 ? Number{false, 1} : assembly_.numbers.integer(std::abs(step), {Role::clip_divisor, where});
    // n k + r < 0 for all r of the tile: k < -r / n; -n k + r < 0 from k >= (r + 1) / n on
    const auto change = [&](int64_t moved, Role role) {
        const int64_t constant = grows ? -moved : moved + 1;
        return Bound{expressions_.clipped(below_zero, loop.axis, constant, grows ? -1 : 1, {role, where}), divisor};
    };
    const Bound first = change(grows ? spread.high : spread.low, Role::lower_clip);
    const Bound last = change(grows ? spread.low : spread.high, Role::upper_clip);
    Expr otherwise = arena.add(arena.integer(-1), below_zero, -1);
    const RightSides sides = sides_;
    Block block;
    const auto add = [&](const std::vector<Bound>& lower, const std::vector<Bound>& upper, Expr known) {
        ReducedLoop part = loop;
        part.range.lower.insert(part.range.lower.end(), lower.begin(), lower.end());
        part.range.upper.insert(part.range.upper.end(), upper.begin(), upper.end());
        part.copies = known ? 3 * loop.copies : INT32_MAX;  // where points differ it is not cut again
        part.clipped = true;
        if (known) take(sides_where(assembly_.kernel, sides, {known}, true));
        append(block, reduced_parts(part, inner));
        take(sides);
    };
    add({}, {first}, grows ? below_zero : otherwise);
    add({first}, {last}, nullptr);
    add({last}, {}, grows ? otherwise : below_zero);
    return block;
}

// No reduction has a term here.
bool Nest::adds_nothing() const {
    return group_.before.empty() && std::ranges::all_of(group_.reductions, [&](EquationIndex index) {
               const Reducer reducer = *equation(index).reducer;
               return !is_argument(reducer) && is_nothing(right(index), reducer);
           });
}

}  // namespace heddle::schedules
