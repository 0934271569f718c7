// Of a state that is read after its scan at many steps, often only a slice is read: of waves the last sweep, one row
// (`y[i, j] = u[2 * i + j, 6, i]`). The slice then has a name, an equation of the scan that only copies, and is kept for
// all steps in the state's place, of which few are alive (kept_steps.h). Where that does not take much less memory,
// nothing changes.
#include <algorithm>
#include <map>
#include <optional>

#include "equations/kept_steps.h"
#include "equations/pass_support.h"
#include "equations/passes.h"
#include "expr/arena_interval.h"

namespace heddle::equations {
namespace {

constexpr double least_shrink = 2;  // in bytes of all that is kept

struct Sliced {
    int32_t maker = -1;
    size_t dimension = 0;  // of the tensor, that counts the steps
    int64_t first = 0;     // its coordinate at the first step
    Box box;               // what is read of the tensor, along other dimensions: all, or at most half
};

class Slicer {
public:
    explicit Slicer(System& system) : system_(system), arena_(*system.arena), readers_(readers(system)) {}

    void run() {
        for (TensorIndex t(0); t < next_id<TensorIndex>(system_.tensors); ++t) {
            const auto sliced = sliced_of(t);
            if (!sliced) continue;
            System before = system_;
            slice(t, *sliced);
            if (kept_bytes(system_) * least_shrink > kept_bytes(before))
                system_ = std::move(before);
            else
                readers_ = readers(system_);
        }
    }

private:
    std::optional<Sliced> steps_of(TensorIndex tensor) const {
        std::optional<Sliced> steps;
        for (int32_t index : system_.tensor(tensor).equations) {
            const Equation& made = system_.equation(index);
            if (made.dead || made.scan < 0) continue;
            if (steps) return std::nullopt;
            for (size_t d = 0; d < made.left.size(); d++) {
                const CoordinateForm form = linear_form(made.left[d]);
                const bool counts = made.left[d]->axes == std::vector{made.ordered} && form.terms.size() == 1 &&
                                    form.terms[0].second == 1;
                if (counts) steps = Sliced{index, d, form.constant, {}};
            }
            if (!steps) return std::nullopt;
        }
        return steps;
    }

    // After the scan, at one of many steps.
    bool is_sliced(const Equation& reader, Expr read, const Sliced& steps) const {
        const Interval at = interval(read->parts()[steps.dimension]);
        return reader.scan != system_.equation(steps.maker).scan && !(at.known() && at.low == at.high);
    }

    // What a guard decides stays to be asked.
    static Box box_with_guards(const SystemTensor& tensor, Expr read) {
        Box box = box_of_read(tensor, read);
        for (size_t d = 0; d < box.rank(); d++) {
            const Size extent = tensor.shape[d];
            if (interval(read->parts()[d]).within(0, extent - 1)) continue;
            box.start[d] = 0;
            box.end[d] = extent;
        }
        return box;
    }

    std::optional<Sliced> sliced_of(TensorIndex tensor) {
        const SystemTensor& info = system_.tensor(tensor);
        auto steps = info.dead || info.is_output ? std::nullopt : steps_of(tensor);
        if (!steps) return std::nullopt;
        const Size count = arena_.extent(system_.equation(steps->maker).ordered);
        bool any = false;
        for (int32_t index : readers_[tensor]) {
            const Equation& reader = system_.equation(index);
            for (Expr read : reads(reader)) {
                if (read->tensor() != tensor || !is_sliced(reader, read, *steps)) continue;
                const Expr at = read->parts()[steps->dimension];
                if (!interval(at).within(steps->first, steps->first + count - 1)) return std::nullopt;
                const Box box = box_with_guards(info, read);
                steps->box = any ? hull(steps->box, box) : box;
                any = true;
            }
        }
        if (!any || steps->box.is_empty()) return std::nullopt;
        double part = 1;
        for (size_t d = 0; d < info.shape.size(); d++) {
            if (d == steps->dimension || steps->box.extent(d) * 2 > info.shape[d]) {
                steps->box.start[d] = 0;
                steps->box.end[d] = info.shape[d];
            }
            part *= static_cast<double>(steps->box.extent(d).number()) / static_cast<double>(info.shape[d].number());
        }
        return part * least_shrink <= 1 ? steps : std::nullopt;
    }

    // slice[w, ..] = tensor[first + w, start + ..] at each step w
    void slice(TensorIndex tensor, const Sliced& sliced) {
        const SystemTensor of = system_.tensor(tensor);
        const Equation made = system_.equation(sliced.maker);
        SystemTensor info{.name = of.name + "_slice", .dtype = of.dtype, .prepared = of.prepared};
        info.operation = of.operation;
        Equation copy{.scan = made.scan};
        std::vector<Expr> from;
        std::vector<size_t> kept;  // dimensions
        for (size_t d = 0; d < of.shape.size(); d++) {
            const bool counts = d == sliced.dimension;
            from.push_back(arena_.integer(counts ? Size(sliced.first) : sliced.box.start[d]));
            const bool whole = !counts && sliced.box.extent(d) == of.shape[d];
            if (!counts && !whole && sliced.box.extent(d) == 1) continue;
            Axis axis{.name = of.name, .extent = sliced.box.extent(d)};
            if (counts || (whole && made.left[d]->kind == Kind::variable)) axis = arena_.axis(made.left[d]->axes[0]);
            const AxisId own = arena_.add_axis(axis);
            if (counts) copy.ordered = own;
            kept.push_back(d);
            copy.axes.push_back(own);
            copy.left.push_back(arena_.axis_value(own));
            from.back() = arena_.add(from.back(), copy.left.back());
            info.shape.push_back(axis.extent);
        }
        copy.right = arena_.read(tensor, of.dtype, std::move(from));
        copy.tensor = system_.add_tensor(std::move(info));
        for (Equation& reader : system_.equations) {
            if (!reader.dead) read_slice(reader, tensor, sliced, copy.tensor, kept);
        }
        system_.add_equation(std::move(copy));
    }

    void read_slice(Equation& reader, TensorIndex tensor, const Sliced& sliced, TensorIndex slice,
                    const std::vector<size_t>& kept) {
        const SystemTensor& info = system_.tensor(slice);
        reader.right = replace_reads(arena_, reader.right, [&](Expr read) -> Expr {
            if (read->tensor() != tensor || !is_sliced(reader, read, sliced)) return nullptr;
            std::vector<Expr> at;
            for (size_t d : kept) {
                const Size start = d == sliced.dimension ? Size(sliced.first) : sliced.box.start[d];
                at.push_back(arena_.add(read->parts()[d], arena_.integer(-start)));
            }
            if (read->kind == Kind::read) return arena_.read(slice, info.dtype, std::move(at));
            return arena_.guarded_read(slice, info.dtype, std::move(at), read->parts().back(), info.shape);
        });
    }

    static double kept_bytes(const System& system) {
        const std::vector<KeptSteps> kept = kept_steps(system);
        double sum = 0;
        for (size_t t = 0; t < kept.size(); t++) {
            const SystemTensor& tensor = system.tensors[t];
            if (tensor.dead || tensor.kind != SystemTensor::Kind::computed) continue;
            double elements = 1;
            for (size_t d = 0; d < tensor.shape.size(); d++) {
                const bool in_turn = kept[t].places > 0 && kept[t].dimension == d;
                elements *= static_cast<double>(in_turn ? kept[t].places : tensor.shape[d].number());
            }
            sum += elements * static_cast<double>(bytes(tensor.dtype));
        }
        return sum;
    }

    System& system_;
    Arena& arena_;
    std::map<TensorIndex, std::vector<int32_t>> readers_;
};

}  // namespace

void keep_slices(System& system) { Slicer(system).run(); }

}  // namespace heddle::equations
