#include <algorithm>
#include <set>

#include "expr/check.h"
#include "schedules/accesses.h"
#include "schedules/kernel.h"

namespace heddle::schedules {
namespace {

class Verifier {
public:
    explicit Verifier(const Kernel& kernel) : kernel_(kernel) {}

    Result<void> verify() {
        check_indices();
        if (errors_.empty()) check_equations();
        if (errors_.empty()) return {};
        return fail(std::move(errors_));
    }

private:
    void error(const std::string& code, const std::string& summary, const std::string& found) {
        Diagnostic diagnostic;
        diagnostic.code = code;
        diagnostic.summary = summary;
        diagnostic.found = found;
        errors_.push_back(std::move(diagnostic));
    }

    template <typename List>
    static bool in(const List& list, int64_t index) {
        return index >= 0 && index < static_cast<int64_t>(list.size());
    }

    // Everything that an index names exists.
    void check_indices() {
        auto bad = [&](const std::string& what) {
            error("schedules.index", "the kernel names something that it does not have", what);
        };
        auto axes = [&](const std::vector<AxisId>& list) {
            for (AxisId axis : list) {
                if (axis < 0 || static_cast<size_t>(axis) >= kernel_.arena->axis_count()) bad("an axis");
            }
        };
        for (size_t t = 0; t < kernel_.tensors.size(); t++) {
            const TensorIndex other = kernel_.tensors[t].shares;
            if (other >= 0 && (!in(kernel_.tensors, other) || kernel_.tensor(other).shares != TensorIndex(t)))
                bad("the tensor that " + kernel_.tensors[t].name + " shares memory with");
        }
        for (const KernelEquation& e : kernel_.equations) {
            if (!in(kernel_.tensors, e.tensor) || !e.right) {
                bad("the tensor or right side of an equation");
                continue;
            }
            axes(e.axes);
            axes(e.reduced);
            if (e.ordered != -1) axes({e.ordered});
            if (e.left.size() != kernel_.tensor(e.tensor).dimensions.size())
                bad("a coordinate for each dimension of " + kernel_.tensor(e.tensor).name);
        }
        axes(kernel_.common);
    }

    void check_equations() {
        std::set<TensorIndex> written;
        std::set<AxisId> done;  // ordered axes whose scan has ended
        AxisId running = no_id;
        for (const KernelEquation& e : kernel_.equations) {
            const std::string& name = kernel_.tensor(e.tensor).name;
            if (kernel_.tensor(e.tensor).role == KernelTensor::Role::input) {
                error("schedules.role", "an input is written", name);
            }
            if (e.ordered != running && running >= 0) done.insert(running);
            running = e.ordered;
            if (done.contains(running)) error("schedules.scope", "the equations of a scan stand apart", name);
            check_scope(e, name);
            check_expressions(e, name);
            if (!e.reducer && !e.update && !e.reduced.empty())
                error("schedules.scope", "reduced axes without a reducer", name);
            if (e.update)
                check_update(e, name,
                             written.contains(e.tensor) || kernel_.tensor(e.tensor).role == KernelTensor::Role::in_out);
            for (const ReadAccess& read : reads_of(e.right)) {
                if (!in(kernel_.tensors, read.tensor) || written.contains(read.tensor)) continue;
                const KernelTensor& t = kernel_.tensor(read.tensor);
                if (t.role == KernelTensor::Role::local)
                    error("schedules.scope", "a local is read before it is computed", t.name);
            }
            if (e.reducer && !accepts(*e.reducer, e.right->dtype))
                error("schedules.type", "the reduction does not take terms of this type", name);
            if (e.reducer && is_argument(*e.reducer) && e.reduced.empty()) {
                error("schedules.scope", "an argument reduction without an axis", name);
            }
            written.insert(e.tensor);
        }
    }

    void check_scope(const KernelEquation& e, const std::string& name) {
        std::set<AxisId> scope(e.axes.begin(), e.axes.end());
        const size_t ordered = e.ordered >= 0 ? 1 : 0;
        if (ordered) scope.insert(e.ordered);
        if (std::find(kernel_.common.begin(), kernel_.common.end(), e.ordered) != kernel_.common.end())
            error("schedules.scope", "an ordered axis is a common one", name);
        if (e.update) scope.insert(e.reduced.begin(), e.reduced.end());
        for (Expr c : e.left) {
            const CoordinateParts parts = parts_of(c);
            for (const auto& [axis, factor] : parts.axes) {
                if (!scope.contains(axis)) error("schedules.scope", "an axis on the left is not the equation's", name);
            }
            // Of a scan's step alone it may: steps are kept in turn.
            if (!parts.values.empty() && !e.update && !(e.ordered >= 0 && !c->has_reads))
                error("schedules.scope", "a left side depends on a value", name);
        }
        scope.insert(e.reduced.begin(), e.reduced.end());
        if (scope.size() != e.axes.size() + ordered + e.reduced.size())
            error("schedules.scope", "an axis occurs twice", name);
        std::vector<Expr> roots = e.left;
        roots.push_back(e.right);
        for (Expr root : roots) {
            const bool inside = std::ranges::all_of(root->axes, [&](AxisId axis) { return scope.contains(axis); });
            if (!inside) error("schedules.scope", "an axis of an expression is not the equation's", name);
        }
    }

    // A selection without a reducer, of a tensor that has been filled; tasks own what they update by axes of their own.
    void check_update(const KernelEquation& e, const std::string& name, bool filled) {
        if (e.reducer || e.right->kind != Kind::select)
            error("schedules.update", "an update is no selection, or has a reducer", name);
        if (!filled) error("schedules.update", "a tensor is updated before it is filled", name);
    }

    // With the margins. Nothing is known of what values move.
    bool leaves(TensorIndex tensor, size_t d, Expr coordinate) const {
        const auto range = range_of(coordinate);
        const BufferDimension& dimension = kernel_.tensor(tensor).dimensions[d];
        return range && !range->within(-dimension.margin_before, dimension.extent + dimension.margin_after - 1);
    }

    // Where each axis has a point. Of a sum of axes the ends are sums of the extents as they are, which are not asked for.
    std::optional<Interval> range_of(Expr coordinate) const {
        const CoordinateParts parts = parts_of(coordinate);
        const auto is_number = [](const auto& axis) { return !axis.second.named(); };
        if (!parts.values.empty() || !std::ranges::all_of(parts.axes, is_number)) return interval(kernel_, coordinate);
        Interval range = Interval::point(parts.constant);
        for (const auto& [axis, factor] : parts.axes) {
            Size& end = factor.number() > 0 ? range.high : range.low;
            end += factor * (kernel_.axis(axis).extent - 1);
        }
        return range;
    }

    bool runs(const KernelEquation& e) const {
        if (e.ordered >= 0 && kernel_.axis(e.ordered).extent == 0) return false;
        for (const auto* list : {&e.axes, &e.reduced}) {
            for (AxisId axis : *list) {
                if (kernel_.axis(axis).extent == 0) return false;
            }
        }
        return true;
    }

    // Left sides stay inside, too, but for those of updates, which their conditions keep inside.
    void check_expressions(const KernelEquation& e, const std::string& name) {
        expr::Surroundings where{.stage = expr::Stage::kernel, .tensor = {}, .leaves = {}};
        where.tensor = [&](TensorIndex t) {
            return in(kernel_.tensors, t) ? std::optional(kernel_.readable(t)) : std::nullopt;
        };
        auto check = [&](const std::vector<Expr>& roots) {
            for (const Diagnostic& found : expr::check(roots, where))
                error(found.code, "an equation " + found.summary, name);
        };
        check(e.left);
        // Whether it runs is asked where that counts: else it would be a fact of each plan.
        where.leaves = [&](Expr read, size_t d) { return leaves(read->tensor(), d, read->parts()[d]) && runs(e); };
        check({e.right});
        for (size_t d = 0; d < e.left.size(); d++) {
            if (e.left[d]->dtype != DType::int64)
                error("schedules.type", "a coordinate on the left is no integer", name);
            if (!e.update && leaves(e.tensor, d, e.left[d]) && runs(e))
                error("schedules.bounds", "an equation writes outside of its tensor", name);
        }
    }

    const Kernel& kernel_;
    Diagnostics errors_;
};

}  // namespace

Result<void> verify(const Kernel& kernel) { return Verifier(kernel).verify(); }

}  // namespace heddle::schedules
