#include "plan/axis_classes.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "equations/pass_support.h"
#include "equations/scatter.h"
#include "support/union_find.h"

namespace heddle::plan {

using namespace equations;

namespace {

// Classes that never hold two axes of one equation, or the ordered axes of two scans.
class Classes {
public:
    // `scan`: whose ordered axis it is; -1: of none. `also`: another equation that runs along it; -1: none.
    void add(EquationAxis axis, int32_t scan, int32_t also) {
        if (index_.contains(axis)) return;
        index_[axis] = classes_.add();
        members_.push_back({axis.equation});
        if (also >= 0) members_.back().insert(also);
        scans_.push_back(scan);
    }

    void join(EquationAxis a, EquationAxis b) {
        const AxisClass x = of(a), y = of(b);
        if (x == y) return;
        auto& first = members_[x];
        auto& second = members_[y];
        for (int32_t equation : second) {
            if (first.contains(equation)) return;
        }
        int32_t& scan = scans_[x];
        const int32_t other = scans_[y];
        if (scan >= 0 && other >= 0 && scan != other) return;
        scan = std::max(scan, other);
        first.merge(second);
        classes_.join(x, y);
    }

    AxisClass of(EquationAxis axis) { return classes_.root(index_.at(axis)); }

private:
    std::map<EquationAxis, AxisClass> index_;
    UnionFind<AxisClass> classes_;
    std::vector<std::set<int32_t>> members_;
    std::vector<int32_t> scans_;  // by root
};

void join_reads(const System& system, Classes& classes, const std::set<int32_t>& inside, int32_t reader) {
    Arena& arena = *system.arena;
    for (Expr read : reads(system.equation(reader))) {
        const auto& tensor = system.tensor(read->tensor());
        size_t rank = tensor.shape.size();
        for (int32_t writer : tensor.equations) {
            if (!inside.contains(writer) || writer == reader) continue;
            const Equation& equation = system.equation(writer);
            for (size_t d = 0; d < rank; d++) {
                // A dimension that the pieces cut does not run with the reader's.
                bool cut = tensor.equations.size() > 1 &&
                           equation.left[d]->high - equation.left[d]->low + 1 != tensor.shape[d];
                if (cut) continue;
                for (auto [axis, digit] : digits_at(arena, equation.left[d], read->parts()[d])) {
                    if (digit->kind != Kind::variable || arena.extent(digit->axis()) != arena.extent(axis)) continue;
                    classes.join({writer, axis}, {reader, digit->axis()});
                }
            }
        }
    }
}

// The axes of `second` as those of `first`, if both run over the same ones: own axes by class, reduced ones by place.
std::optional<Arena::Substitution> same_space(const System& system, Classes& classes, int32_t first, int32_t second) {
    const Equation &a = system.equation(first), &b = system.equation(second);
    Arena& arena = *system.arena;
    if (a.axes.size() != b.axes.size() || a.reduced.size() != b.reduced.size()) return std::nullopt;
    Arena::Substitution to_first;
    for (AxisId axis : b.axes) {
        const AxisClass wanted = classes.of({second, axis});
        const auto found =
            std::ranges::find_if(a.axes, [&](AxisId other) { return classes.of({first, other}) == wanted; });
        if (found == a.axes.end()) return std::nullopt;
        to_first[axis] = arena.axis_value(*found);
    }
    for (size_t i = 0; i < a.reduced.size(); i++) {
        if (arena.extent(a.reduced[i]) != arena.extent(b.reduced[i])) return std::nullopt;
        to_first[b.reduced[i]] = arena.axis_value(a.reduced[i]);
    }
    return to_first;
}

// Two reductions of the same elements run along the same axes; if none reads the other one, they share a loop.
void join_reductions(const System& system, Classes& classes, int32_t first, int32_t second) {
    const Equation &a = system.equation(first), &b = system.equation(second);
    const auto to_first = same_space(system, classes, first, second);
    if (!to_first) return;
    const std::vector<Expr> known = reads(a);
    const auto is_shared = [&](Expr read) {
        return std::ranges::find(known, system.arena->substitute(read, *to_first)) != known.end();
    };
    if (std::ranges::none_of(reads(b), is_shared)) return;
    for (size_t i = 0; i < a.reduced.size(); i++) classes.join({first, a.reduced[i]}, {second, b.reduced[i]});
}

// Pieces of one tensor that lie beside one another, axis by axis, run along the same axes.
void join_pieces(const System& system, Classes& classes, int32_t first, int32_t second) {
    const Equation &a = system.equation(first), &b = system.equation(second);
    Arena& arena = *system.arena;
    if (a.tensor != b.tensor || a.axes.size() != b.axes.size() || a.scan >= 0 || b.scan >= 0) return;
    Arena::Substitution to_first;
    for (size_t i = 0; i < a.axes.size(); i++) {
        if (arena.extent(a.axes[i]) != arena.extent(b.axes[i])) return;
        to_first[b.axes[i]] = arena.axis_value(a.axes[i]);
    }
    for (size_t d = 0; d < a.left.size(); d++) {
        const Expr apart = arena.add(arena.substitute(b.left[d], to_first), a.left[d], -1);
        if (apart->kind != Kind::integer) return;
    }
    for (size_t i = 0; i < a.axes.size(); i++) classes.join({first, a.axes[i]}, {second, b.axes[i]});
}

}  // namespace

std::map<EquationAxis, AxisClass> axis_classes(const System& system, const Kernel& kernel) {
    const std::vector<int32_t>& equations = kernel.equations;
    Classes classes;
    std::map<int32_t, int32_t> updated;  // by scatter: what its terms may be added to
    for (int32_t e : equations) {
        const auto into = scatter_into(system, system.equation(e));
        if (into && into->scatter >= 0) updated[into->scatter] = e;
    }
    std::vector<EquationAxis> order;
    for (int32_t e : equations) {
        const Equation& equation = system.equation(e);
        for (AxisId axis : equation.axes) {
            classes.add({e, axis}, axis == equation.ordered ? equation.scan : -1, -1);
            order.push_back({e, axis});
        }
        const int32_t also = updated.contains(e) ? updated.at(e) : -1;
        for (AxisId axis : equation.reduced) {
            classes.add({e, axis}, -1, also);
            order.push_back({e, axis});
        }
    }
    std::map<int32_t, EquationAxis> ordered;  // the equations of one scan run along one axis
    for (int32_t e : equations) {
        const Equation& equation = system.equation(e);
        if (equation.scan < 0) continue;
        const EquationAxis axis = {e, equation.ordered};
        classes.join(ordered.try_emplace(equation.scan, axis).first->second, axis);
    }
    std::set<int32_t> inside(equations.begin(), equations.end());
    for (int32_t e : equations) join_reads(system, classes, inside, e);
    for (const Kernel::CommonAxis& common : kernel.common) {
        for (const auto& [equation, axis] : common.axis_of)
            classes.join({common.axis_of.begin()->first, common.axis_of.begin()->second}, {equation, axis});
    }
    int32_t before = -1;  // the reduction before
    for (int32_t e : equations) {
        if (!system.equation(e).reducer) continue;
        if (before >= 0) join_pieces(system, classes, before, e);
        if (before >= 0) join_reductions(system, classes, before, e);
        before = e;
    }

    std::map<AxisClass, AxisClass> number;  // by root
    std::map<EquationAxis, AxisClass> result;
    for (const EquationAxis& axis : order) {
        auto [found, added] = number.try_emplace(classes.of(axis), next_id<AxisClass>(number));
        result[axis] = found->second;
    }
    return result;
}

}  // namespace heddle::plan
