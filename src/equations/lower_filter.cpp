// Equality filters of reductions are solved for a reduced axis, so that a transposed convolution sums K / s terms.
#include <algorithm>

#include "expr/coordinate.h"
#include "equations/lower_body.h"
#include "equations/pass_support.h"
#include "zspace/linear_equation.h"

namespace heddle::equations {
namespace {

struct Solver {
    const System& system;
    SolvedFilter& result;
    Arena& arena = *system.arena;

    // The reduced axis that may be solved for in `form`: it occurs once, as a term of its own.
    std::optional<std::pair<AxisId, int64_t>> candidate(const CoordinateForm& form, int64_t period) const {
        for (const auto& [atom, factor] : form.terms) {
            if (atom->kind != Kind::variable || factor.named() || factor == INT64_MIN) continue;
            const auto axis = atom->axis();
            if (std::find(result.reduced.begin(), result.reduced.end(), axis) == result.reduced.end()) continue;
            const bool solvable = solution_for(factor, period).divisor == 1;
            const bool once = std::count_if(form.terms.begin(), form.terms.end(), [&, own = axis](const auto& term) {
                                  return std::binary_search(term.first->axes.begin(), term.first->axes.end(), own);
                              }) == 1;
            if (solvable && once) return std::pair(axis, factor);
        }
        return std::nullopt;
    }

    // What `factor * axis` must be equal to: minus the other terms.
    Expr others(const CoordinateForm& form, AxisId axis) const {
        Expr rest = arena.integer(-form.constant);
        for (const auto& [atom, factor] : form.terms) {
            if (atom->kind != Kind::variable || atom->axis() != axis) rest = arena.add(rest, atom, -factor);
        }
        return rest;
    }

    // `inside`: where the value is one of the axis. What the condition reads there may lie outside elsewhere.
    void replace(AxisId axis, Expr value, Expr inside) {
        for (auto& [other, expression] : result.solution) expression = arena.substitute(expression, {{axis, value}});
        result.condition = lazy_conjunction(system, inside, arena.substitute(result.condition, {{axis, value}}));
        result.solution[axis] = value;
        std::erase(result.reduced, axis);
    }

    bool solve(Expr zero) {
        zero = arena.substitute(zero, result.solution);
        CoordinateForm form = linear_form(zero);
        if (auto found = candidate(form, 0)) {
            auto [axis, factor] = *found;
            Expr value = arena.scale(others(form, axis), solution_for(factor).multiplier);
            replace(axis, value, arena.inside(value, arena.extent(axis)));
            return true;
        }
        // x % s == r, as a linear form with one remainder.
        if (form.terms.size() != 1 || form.terms[0].first->kind != Kind::modulo || std::abs(form.terms[0].second) != 1)
            return false;
        Expr remainder = form.terms[0].first;
        const int64_t period = remainder->integer, wanted = -form.constant * form.terms[0].second;
        if (wanted < 0 || wanted >= period || period > INT32_MAX) return false;
        const CoordinateForm inner = linear_form(arena.add(remainder->parts()[0], arena.integer(-wanted)));
        auto found = candidate(inner, period);
        if (!found) return false;
        auto [axis, factor] = *found;
        const Size extent = arena.extent(axis);
        Expr first = arena.modulo(arena.scale(others(inner, axis), solution_for(factor, period).multiplier), period);
        const Axis& whole = arena.axis(axis);
        const AxisId step = arena.add_axis({.name = whole.name,
                                            .extent = ceil_divide(extent, period),
                                            .named = whole.named,
                                            .factor = whole.named ? 1 : 0});
        Expr value = arena.add(first, arena.axis_value(step), period);
        const auto place = std::find(result.reduced.begin(), result.reduced.end(), axis);
        result.reduced.insert(place, step);
        replace(axis, value, arena.less(value, arena.integer(extent)));
        return true;
    }
};

}  // namespace

SolvedFilter solve_filter(const System& system, const std::vector<Expr>& equalities, Expr condition,
                          std::vector<AxisId> reduced) {
    Arena& arena = *system.arena;
    SolvedFilter result;
    result.reduced = std::move(reduced);
    result.condition = condition;
    Solver solver{system, result};
    for (Expr zero : equalities) {
        if (solver.solve(zero)) continue;
        zero = arena.substitute(zero, result.solution);
        Expr holds = coordinate_of(arena, ScalarOp::equal, zero, arena.integer(0));
        result.condition = arena.conjunction(result.condition, holds);
    }
    std::erase_if(result.reduced, [&](AxisId axis) { return arena.extent(axis) == 1 && !arena.axis(axis).named; });
    return result;
}

}  // namespace heddle::equations
