#include "schedules/checks_ahead.h"

#include <algorithm>

#include "schedules/accesses.h"
#include "schedules/folding.h"
#include "schedules/unchanged.h"
#include "target/choice_numbers.h"

namespace heddle::schedules {
namespace {

struct CheckedPlace {
    Expr coordinate = nullptr;
    Size extent = 0;
};

// What the update's places are asked for.
struct Asked {
    std::vector<CheckedPlace> checked;  // of reads: outside is an error
    std::vector<CheckedPlace> updated;  // of the left side: outside is nothing to update
    std::vector<Expr> inside;           // what the condition asks of these
};

class CheckFinder {
public:
    explicit CheckFinder(const Kernel& kernel) : kernel_(kernel) {}

    // Nothing if some place must be checked in each step.
    std::optional<Asked> of(const KernelEquation& e) const {
        const bool repeats = e.update && e.ordered >= 0 && e.block < 0 && e.ascending < 0 && e.limits.empty() &&
                             kernel_.hint(e.ordered) >= choice_numbers::least_steps_behind_checks;
        if (!repeats) return std::nullopt;
        Asked asked;
        for (size_t d = 0; d < e.left.size(); d++) {
            if (!e.left[d]->has_reads) continue;
            if (!is_same_in_steps(e, e.left[d])) return std::nullopt;
            asked.updated.push_back({e.left[d], kernel_.tensor(e.tensor).dimensions[d].extent});
        }
        for (const ReadAccess& read : reads_of(e.right)) {
            if (read.value->kind == Kind::read && !add_places(e, read.value, asked)) return std::nullopt;
        }
        for (Expr part : expr::walk(e.right->parts()[0])) {
            const auto is_asked = [&](const CheckedPlace& place) {
                return part->parts()[0] == place.coordinate && part->integer.same_as(place.extent);
            };
            if (part->kind == Kind::inside && std::ranges::any_of(asked.updated, is_asked))
                asked.inside.push_back(part);
        }
        return is_often_checked(e, asked) ? std::optional(asked) : std::nullopt;
    }

private:
    bool add_places(const KernelEquation& e, Expr read, Asked& asked) const {
        for (size_t d = 0; d < read->parts().size(); d++) {
            const Expr coordinate = read->parts()[d];
            if (!coordinate->has_reads) continue;
            if (read->tensor() == e.tensor && coordinate == e.left[d]) continue;
            if (!is_same_in_steps(e, coordinate)) return false;
            asked.checked.push_back({coordinate, kernel_.tensor(read->tensor()).dimensions[d].extent});
        }
        return true;
    }

    // Whoever asks for it before the scan, and in every task, gets the same.
    bool is_same_in_steps(const KernelEquation& e, Expr coordinate) const {
        const auto moves = [&](AxisId axis) { return axis == e.ordered || contains(kernel_.common, axis); };
        if (std::ranges::any_of(coordinate->axes, moves)) return false;
        return std::ranges::all_of(expr::walk(coordinate), [&](Expr part) {
            if (part->kind == Kind::guarded_read || part->kind == Kind::inside) return false;
            if (part->kind != Kind::read) return true;
            const KernelTensor& t = kernel_.tensor(part->tensor());
            return t.role == KernelTensor::Role::input && !t.may_alias() && is_inside(kernel_, part);
        });
    }

    // In every point of the nest: else it costs little beside what is done with it.
    bool is_often_checked(const KernelEquation& e, const Asked& asked) const {
        std::vector<AxisId> axes = e.axes;
        axes.insert(axes.end(), e.reduced.begin(), e.reduced.end());
        return !asked.checked.empty() && std::ranges::all_of(axes, [&](AxisId axis) {
            if (contains(kernel_.common, axis)) return true;
            return std::ranges::any_of(asked.checked,
                                       [&](const CheckedPlace& p) { return depends_on(p.coordinate, axis); });
        });
    }

    const Kernel& kernel_;
};

class CheckWriter {
public:
    explicit CheckWriter(const Kernel& kernel) : kernel_(copied(kernel)), arena_(*kernel_.arena) {}

    Kernel run() {
        std::vector<KernelEquation> before;
        for (size_t i = 0; i < kernel_.equations.size(); i++) {
            const auto asked = CheckFinder(kernel_).of(kernel_.equations[i]);
            if (!asked) continue;
            before.push_back(all_inside(kernel_.equations[i], *asked));
            KernelEquation unchecked = without_checks(kernel_.equations[i], *asked, before.back().tensor);
            kernel_.equations.insert(kernel_.equations.begin() + static_cast<ptrdiff_t>(i++), std::move(unchecked));
        }
        kernel_.equations.insert(kernel_.equations.begin(), before.begin(), before.end());
        return std::move(kernel_);
    }

private:
    KernelEquation all_inside(const KernelEquation& update, const Asked& asked) {
        KernelEquation all;
        all.reducer = Reducer::minimum;
        all.light = !kernel_.common.empty();
        Expr inside = nullptr;
        for (const auto* places : {&asked.updated, &asked.checked}) {
            for (const CheckedPlace& place : *places) {
                const Expr condition = arena_.inside(place.coordinate, place.extent);
                inside = inside ? both(inside, condition) : condition;
            }
        }
        all.right = arena_.select(inside, number(1), number(0));  // as wide as places are: few vectors
        for (const auto* axes : {&update.axes, &update.reduced}) {
            for (AxisId axis : *axes) {
                if (depends_on(all.right, axis)) all.reduced.push_back(axis);
            }
        }
        all.tensor = TensorIndex(kernel_.tensors.size());
        KernelTensor local;
        local.name = "inside" + std::to_string(kernel_.tensors.size());
        local.role = KernelTensor::Role::local;
        local.dtype = DType::int32;
        kernel_.tensors.push_back(std::move(local));
        return all;
    }

    // The update where all places are inside; what is left to the given one is where they are not.
    KernelEquation without_checks(KernelEquation& update, const Asked& asked, TensorIndex all_inside) {
        const Expr none_outside = arena_.read(all_inside, DType::int32, {});
        const Expr inside = arena_.scalar(ScalarOp::not_equal, DType::boolean, {none_outside, number(0)});
        const auto parts = update.right->parts();
        Expr rest = parts[0];
        for (Expr condition : asked.inside) rest = where_answered(arena_, rest, condition, true);
        KernelEquation unchecked = update;
        unchecked.all_inside = true;
        unchecked.right = arena_.select(truth_of(rest) == true ? inside : both(inside, rest), parts[1], parts[2]);
        const Expr outside = arena_.scalar(ScalarOp::logical_not, DType::boolean, {inside});
        update.right = arena_.select(both(outside, parts[0]), parts[1], parts[2]);
        return unchecked;
    }

    Expr number(int64_t value) { return arena_.literal(DType::int32, value); }
    Expr both(Expr a, Expr b) { return arena_.scalar(ScalarOp::logical_and, DType::boolean, {a, b}); }

    Kernel kernel_;
    Arena& arena_;
};

}  // namespace

std::optional<Kernel> with_checks_ahead(const Kernel& kernel) {
    const CheckFinder finder(kernel);
    const bool any =
        std::ranges::any_of(kernel.equations, [&](const KernelEquation& e) { return finder.of(e).has_value(); });
    return any ? std::optional(CheckWriter(kernel).run()) : std::nullopt;
}

}  // namespace heddle::schedules
