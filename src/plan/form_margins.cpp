#include <algorithm>

#include "plan/kernel_former.h"
#include "plan/merge_axes.h"

namespace heddle::plan {

namespace sched = heddle::schedules;

namespace {

// Dimensions that lie together, outermost first: of several only the outermost has margins.
struct Run {
    Size before = 0, inside = 1, after = 0;
    Size stride = 1;

    bool has_margins() const { return !before.same_as(0) || !after.same_as(0); }
    Size all() const { return before + inside + after; }
};

std::vector<Run> runs_of(const StorageMap& map) {
    std::vector<Run> runs;
    for (int32_t dimension : map.order) {
        const auto d = static_cast<size_t>(dimension);
        const Run run{map.margin_before[d], map.extent[d], map.margin_after[d]};
        if (run.has_margins() || runs.empty()) {
            runs.push_back(run);
        } else {
            for (Size* part : {&runs.back().before, &runs.back().inside, &runs.back().after}) *part *= run.inside;
        }
    }
    Size stride = 1;
    for (size_t i = runs.size(); i-- > 0;) {
        runs[i].stride = stride;
        stride *= runs[i].all();
    }
    return runs;
}

// Every axis counts as named, with one of these extents for its hint: so most maps have one code.
enum Hint : int64_t { few = 4, rows = 64, many = 512 };

// A margin of one side is a box: of the runs outside of its own the inside, of those inside of it all.
class MarginFormer {
public:
    MarginFormer(const StorageMap& map, DType dtype) : runs_(runs_of(map)), filling_(value(map.filling, dtype)) {
        sched::KernelTensor tensor{.name = "t",
                                   .role = sched::KernelTensor::Role::output,
                                   .dtype = dtype,
                                   .filling = map.filling,
                                   .aligned = false};
        int64_t hint_stride = 1;
        for (size_t i = 0; i < runs_.size(); i++, hint_stride *= 2 * many)
            hint_strides_.insert(hint_strides_.begin(), hint_stride);
        for (const Run& run : runs_) {
            const bool is_last = &run == &runs_.back();
            const int64_t inside = is_last ? many : rows, side = is_last && may_be_many(run) ? many : few;
            tensor.dimensions.push_back({run.inside, run.stride, run.before, run.after});
            inside_.push_back(add_axis(run.inside, inside));
            all_.push_back(add_axis(run.all(), inside));
            before_.push_back(add_axis(run.before, side));
            after_.push_back(add_axis(run.after, side));
        }
        kernel_.tensors.push_back(std::move(tensor));
    }

    sched::Kernel form() {
        for (size_t i = 0; i < runs_.size(); i++) {
            if (!runs_[i].before.same_as(0)) add_box(i, before_[i], -runs_[i].before);
            if (!runs_[i].after.same_as(0)) add_box(i, after_[i], runs_[i].inside);
        }
        if (!runs_.front().has_margins()) kernel_.common = {inside_.front()};
        std::vector<std::vector<int64_t>> hints{hint_strides_};
        merge_axes(kernel_, hints);
        return std::move(kernel_);
    }

private:
    // At some sizes, whatever they are here: who checks a plan makes the same ones, and need not know its sizes' classes.
    static bool may_be_many(const Run& run) {
        const auto origin = [](const Size& size) { return size.named() ? size.origin() : Origin::of_constant(size.number()); };
        const OriginPointer most = Origin::of(Origin::Kind::maximum, origin(run.before), origin(run.after));
        return !most->is_constant() || most->constant_value() >= many / 8;
    }

    sched::AxisId add_axis(const Size& extent, int64_t hint) {
        return kernel_.add_axis({.extent = extent, .named = true, .hint = hint});
    }

    sched::Expr value(double filling, DType dtype) {
        sched::Arena& arena = *kernel_.arena;
        return is_float(dtype) ? arena.real(dtype, filling) : arena.literal(dtype, static_cast<int64_t>(filling));
    }

    void add_box(size_t place, sched::AxisId side, const Size& begin) {
        sched::Arena& arena = *kernel_.arena;
        sched::KernelEquation equation{.tensor = sched::TensorIndex(0), .right = filling_};
        for (size_t i = 0; i < runs_.size(); i++) {
            const sched::AxisId axis = i < place ? inside_[i] : i == place ? side : all_[i];
            const Size first = i < place ? Size(0) : i == place ? begin : -runs_[i].before;
            equation.axes.push_back(axis);
            equation.left.push_back(arena.add(arena.axis_value(axis), arena.integer(first)));
        }
        kernel_.equations.push_back(std::move(equation));
    }

    sched::Kernel kernel_;
    const std::vector<Run> runs_;
    const sched::Expr filling_;
    std::vector<sched::AxisId> before_, inside_, after_, all_;  // by run
    std::vector<int64_t> hint_strides_;
};

}  // namespace

sched::Kernel form_margins(const StorageMap& map, DType dtype) { return MarginFormer(map, dtype).form(); }

}  // namespace heddle::plan
