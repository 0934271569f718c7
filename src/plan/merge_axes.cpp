#include "plan/merge_axes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "expr/remake.h"
#include "schedules/accesses.h"

namespace heddle::plan {

using namespace schedules;

namespace {

// One access: a tensor at coordinates, of which the merged ones go.
struct AccessView {
    TensorIndex tensor;
    std::vector<Expr> coordinates;
    bool guarded;
};

std::string axis_name(size_t number) {
    std::string name;
    for (number++; number > 0; number = (number - 1) / 26)
        name.insert(name.begin(), static_cast<char>('a' + (number - 1) % 26));
    return name;
}

class Merger {
public:
    Merger(Kernel& kernel, std::vector<std::vector<int64_t>>& hint_strides) : kernel_(kernel), hints_(hint_strides) {
        for (size_t i = 0; i < kernel.arena->axis_count(); i++) {
            axes_.push_back(kernel.axis(AxisId(i)));
            axes_.back().hint = kernel.hint(AxisId(i));
        }
        for (const KernelTensor& tensor : kernel.tensors) {
            kept_.emplace_back(tensor.dimensions.size());
            std::iota(kept_.back().begin(), kept_.back().end(), size_t{0});
        }
        std::set<Expr> seen;
        for (const KernelEquation& equation : kernel.equations) {
            accesses_.push_back({equation.tensor, equation.left, false});
            for (Expr coordinate : equation.left) {
                for (const auto& [value, unused] : parts_of(coordinate).values) see(value, seen);
            }
            see(equation.right, seen);
        }
    }

    void run() {
        for (bool again = true; again;) {
            again = false;
            for (AxisId outer(0); outer < next_id<AxisId>(axes_) && !again; outer++) {
                for (AxisId inner(0); inner < next_id<AxisId>(axes_) && !again; inner++) {
                    if (!mergeable(outer, inner)) continue;
                    merge(outer, inner);
                    again = true;
                }
            }
        }
        remake();
    }

private:
    const Axis& axis(AxisId id) const { return axes_[static_cast<size_t>(id)]; }

    // Reads are accesses; axes of what is no access of a tensor stay as they are.
    void see(Expr root, std::set<Expr>& seen) {
        for (Expr e : values_of(root)) {
            if (!seen.insert(e).second) continue;
            if (e->is_read()) accesses_.push_back({e->tensor(), coordinates_of(e), e->kind != Kind::read});
            if (e->kind != Kind::variable && e->kind != Kind::linear && e->kind != Kind::inside) continue;
            Expr coordinate = e->kind == Kind::inside ? e->parts()[0] : e;
            for (const auto& [axis, unused] : parts_of(coordinate).axes) banned_.insert(axis);
        }
    }

    bool mergeable(AxisId outer, AxisId inner) const {
        if (outer == inner || gone_.contains(outer) || gone_.contains(inner)) return false;
        if (banned_.contains(outer) || banned_.contains(inner)) return false;
        if (contains(kernel_.common, outer) != contains(kernel_.common, inner)) return false;
        bool used = false;
        for (const auto& equation : kernel_.equations) {
            if (equation.ordered == outer || equation.ordered == inner) return false;
        }
        for (const auto& equation : kernel_.equations) {
            if (contains(equation.axes, outer) != contains(equation.axes, inner)) return false;
            if (contains(equation.reduced, outer) != contains(equation.reduced, inner)) return false;
            bool argument = equation.reducer && is_argument(*equation.reducer);
            if (argument && contains(equation.reduced, outer) && !follows(equation.reduced, outer, inner)) return false;
            used |= contains(equation.axes, outer) || contains(equation.reduced, outer);
        }
        if (!used) return false;
        // Of one tensor all accesses run through both in the same two dimensions, or none does.
        std::map<TensorIndex, std::pair<int, int>> where;
        for (const AccessView& access : accesses_) {
            std::pair<int, int> at{-1, -1};
            if (!runs_as_one(access, outer, inner, &at)) return false;
            if (where.try_emplace(access.tensor, at).first->second != at) return false;
        }
        return true;
    }

    // An argument reduction's result numbers the terms row-major over its axes: only neighbours keep the numbering.
    static bool follows(const std::vector<AxisId>& axes, AxisId outer, AxisId inner) {
        auto at = std::find(axes.begin(), axes.end(), outer);
        return at + 1 != axes.end() && *(at + 1) == inner;
    }

    bool runs_as_one(const AccessView& access, AxisId outer, AxisId inner, std::pair<int, int>* at) const {
        auto& [outer_at, inner_at] = *at;
        if (!find(access, outer, &outer_at) || !find(access, inner, &inner_at)) return false;
        if (outer_at < 0 && inner_at < 0) return true;
        if (outer_at < 0 || inner_at < 0 || access.guarded) return false;
        const auto& tensor = kernel_.tensor(access.tensor);
        const auto& a = tensor.dimensions[static_cast<size_t>(outer_at)];
        const auto& b = tensor.dimensions[static_cast<size_t>(inner_at)];
        if (!Size::always_equal(a.extent, axis(outer).extent) || !Size::always_equal(b.extent, axis(inner).extent))
            return false;
        if (tensor.role == KernelTensor::Role::local) return inner_at == outer_at + 1;
        // A margin inside breaks the run; one outside is passed over as the outer dimension's own.
        if (b.has_margins() || a.has_margins()) return false;
        const auto& hints = hints_[static_cast<size_t>(access.tensor)];
        return Size::always_equal(a.stride, b.extent * b.stride) &&
               hints[static_cast<size_t>(outer_at)] == axis(inner).hint * hints[static_cast<size_t>(inner_at)];
    }

    // False where the axis occurs but does not stand alone in exactly one dimension.
    static bool find(const AccessView& access, AxisId axis, int* dimension) {
        for (size_t d = 0; d < access.coordinates.size(); d++) {
            Expr coordinate = access.coordinates[d];
            if (coefficient(coordinate, axis) == 0) continue;
            if (*dimension >= 0 || plain_axis(coordinate) != axis) return false;
            *dimension = static_cast<int>(d);
        }
        return true;
    }

    void merge(AxisId outer, AxisId inner) {
        std::set<TensorIndex> shrunk;
        for (auto& access : accesses_) {
            int outer_at = -1, inner_at = -1;
            find(access, outer, &outer_at);
            find(access, inner, &inner_at);
            if (outer_at < 0) continue;
            access.coordinates.erase(access.coordinates.begin() + outer_at);
            if (shrunk.insert(access.tensor).second) {
                auto& dimensions = kernel_.tensors[static_cast<size_t>(access.tensor)].dimensions;
                dimensions[static_cast<size_t>(inner_at)].extent *= dimensions[static_cast<size_t>(outer_at)].extent;
                dimensions.erase(dimensions.begin() + outer_at);
                auto& hints = hints_[static_cast<size_t>(access.tensor)];
                hints.erase(hints.begin() + outer_at);
                auto& kept = kept_[static_cast<size_t>(access.tensor)];
                kept.erase(kept.begin() + outer_at);
            }
        }
        Axis& both = axes_[static_cast<size_t>(inner)];
        both.extent *= axis(outer).extent;
        both.hint *= axis(outer).hint;
        both.named |= axis(outer).named;
        for (auto& equation : kernel_.equations) {
            std::erase(equation.axes, outer);
            std::erase(equation.reduced, outer);
        }
        std::erase(kernel_.common, outer);
        gone_.insert(outer);
    }

    // New numbers of the axes, by first use.
    std::vector<AxisId> order_of_axes() {
        std::vector<AxisId> order;
        auto use = [&](AxisId axis) {
            if (axis >= 0 && !contains(order, axis)) order.push_back(axis);
        };
        for (const KernelEquation& equation : kernel_.equations) {
            use(equation.ordered);
            for (AxisId axis : equation.axes) use(axis);
            for (AxisId axis : equation.reduced) use(axis);
        }
        return order;
    }

    void remake() {
        Kernel made{.tensors = kernel_.tensors, .equations = kernel_.equations, .common = kernel_.common};
        std::vector<AxisId> number(axes_.size(), no_id);
        for (AxisId old : order_of_axes()) {
            Axis axis = axes_[static_cast<size_t>(old)];
            axis.name = axis_name(made.arena->axis_count());
            axis.factor = 0;
            number[static_cast<size_t>(old)] = made.add_axis(std::move(axis));
        }
        auto rename = [&](AxisId& axis) { axis = axis < 0 ? axis : number[static_cast<size_t>(axis)]; };
        auto new_axis = [&](Expr e) {
            return e->kind == Kind::variable ? made.arena->axis_value(number[static_cast<size_t>(e->axis())]) : nullptr;
        };
        // Of what is read with a guard nothing is merged.
        auto parts = [&](Expr e) {
            return e->kind == Kind::read ? kept(e->tensor(), coordinates_of(e)) : operands_of(e);
        };
        auto make = [&](Expr e, std::vector<Expr> operands) { return made.arena->copy(e, std::move(operands)); };
        Arena::Memo memo;
        for (KernelEquation& equation : made.equations) {
            equation.left = kept(equation.tensor, equation.left);
            for (Expr& left : equation.left) left = expr::remade(left, memo, new_axis, parts, make);
            equation.right = expr::remade(equation.right, memo, new_axis, parts, make);
            for (auto* list : {&equation.axes, &equation.reduced}) std::ranges::for_each(*list, rename);
            rename(equation.ordered);
        }
        std::ranges::for_each(made.common, rename);
        std::erase(made.common, -1);
        kernel_ = std::move(made);
    }

    std::vector<Expr> kept(TensorIndex tensor, const std::vector<Expr>& coordinates) const {
        std::vector<Expr> result;
        for (size_t d : kept_[static_cast<size_t>(tensor)]) result.push_back(coordinates[d]);
        return result;
    }

    Kernel& kernel_;
    std::vector<std::vector<int64_t>>& hints_;
    std::vector<Axis> axes_;                 // with what was merged into them
    std::vector<std::vector<size_t>> kept_;  // dimensions of the tensors that are left
    std::vector<AccessView> accesses_;
    std::set<AxisId> banned_, gone_;
};

}  // namespace

void merge_axes(Kernel& kernel, std::vector<std::vector<int64_t>>& hint_strides) { Merger(kernel, hint_strides).run(); }

}  // namespace heddle::plan
