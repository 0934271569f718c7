#include "equations/kept_steps.h"

#include <algorithm>
#include <bit>

#include "equations/pass_support.h"
#include "expr/arena_interval.h"

namespace heddle::equations {
namespace {

// Many places are a power of two, whose remainders are masks; more than these would cost more than they save. Steps of
// few elements lie side by side then: the lanes may run along them (schedules/vector_steps.h).
constexpr int64_t few_places = 8, most_places = 128, row_of_many = 64;

class StepKeeper {
public:
    explicit StepKeeper(const System& system)
        : system_(system), readers_(system.readers()), place_(system.equations.size(), -1) {
        const auto order = system.order();
        for (size_t i = 0; i < order.size(); i++) place_[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
    }

    KeptSteps of(TensorIndex tensor) const {
        const SystemTensor& info = system_.tensor(tensor);
        const Equation* step = step_of(info);
        if (!step || info.is_output) return {};
        KeptSteps kept{1, *dimension_of(*step)};
        bool in_place = true;
        for (int32_t index : readers_[static_cast<size_t>(tensor)]) {
            const Equation& reader = system_.equation(index);
            for (Expr read : reads(reader)) {
                if (read->tensor() != tensor) continue;
                const auto age = age_of(reader, read, *step, kept.dimension);
                if (!age) return {};
                kept.places = std::max(kept.places, *age + 1);
                const bool here = reader.scan == step->scan;
                in_place &= *age == 0 || (here && *age == 1 && may_be_replaced(index, read, *step, kept.dimension));
            }
        }
        const int64_t first =
            linear_form(step->left[kept.dimension]).constant;  // so many values stand before the steps
        if (first > 1) kept.places = std::max(kept.places, first);
        if (in_place && first <= 1) kept.places = 1;
        if (kept.places <= few_places) return kept;
        kept.places = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(kept.places)));
        const double rows = hint_points(*system_.arena, step->axes) * hint_points(*system_.arena, step->reduced) /
                            static_cast<double>(std::max<int64_t>(1, system_.arena->hint(step->ordered)));
        const bool is_worth_it = kept.places <= most_places && rows >= row_of_many;
        return is_worth_it && kept.places < info.shape[kept.dimension] ? kept : KeptSteps{};
    }

private:
    // The equation that makes its steps; null if there is none, if others make more than what stands before them, which
    // no size moves, or if that may be made after the scan, which does not read it.
    const Equation* step_of(const SystemTensor& tensor) const {
        const Equation* step = nullptr;
        for (int32_t maker : tensor.equations) {
            const Equation& made = system_.equation(maker);
            if (made.dead || made.scan < 0) continue;
            if (step) return nullptr;
            step = &made;
        }
        if (!step) return nullptr;
        const auto d = dimension_of(*step);
        if (!d) return nullptr;
        for (int32_t maker : tensor.equations) {
            const Equation& made = system_.equation(maker);
            if (made.dead || &made == step) continue;
            const Expr place = made.left[*d];
            const bool before =
                is_fixed(place) && interval(place).within(0, linear_form(step->left[*d]).constant - 1);
            if (!before || !is_read_in(step->scan, step->tensor)) return nullptr;
        }
        return step;
    }

    bool is_fixed(Expr coordinate) const {
        return std::ranges::none_of(coordinate->axes, [&](AxisId axis) { return system_.arena->axis(axis).named; });
    }

    bool is_read_in(int32_t scan, TensorIndex tensor) const {
        return std::ranges::any_of(readers_[static_cast<size_t>(tensor)],
                                   [&](int32_t reader) { return system_.equation(reader).scan == scan; });
    }

    // Where the steps lie side by side; nothing if they are parted (written by turns with something else).
    static std::optional<size_t> dimension_of(const Equation& step) {
        for (size_t d = 0; d < step.left.size(); d++) {
            const CoordinateForm form = linear_form(step.left[d]);
            const bool alone = form.terms.size() == 1 && step.left[d]->axes == std::vector{step.ordered};
            if (alone && form.terms[0].second == 1) return d;
        }
        return std::nullopt;
    }

    // How many steps are made between the one that is read and the reading: by the scan itself, or after its last step.
    std::optional<int64_t> age_of(const Equation& reader, Expr read, const Equation& made, size_t dimension) const {
        const Expr at = read->parts()[dimension];
        if (read->kind != Kind::read && !interval(at).within(0, system_.tensor(read->tensor()).shape[dimension] - 1))
            return std::nullopt;  // the guard decides by the step
        if (reader.scan == made.scan) {
            const auto step = step_of_read(reader, read, made);
            return step && *step <= 0 ? std::optional(-*step) : std::nullopt;
        }
        const bool fixed = is_fixed(at) && interval(at).known();
        if (!fixed) return std::nullopt;
        const Size last = linear_form(made.left[dimension]).constant + system_.arena->extent(made.ordered) - 1;
        const Size age = last - at->low;
        return !age.named() && age >= 0 ? std::optional(age.number()) : std::nullopt;
    }

    // The step before is read where this one then is written, or by an equation that is done by then. Such a reader of
    // as many axes might have shared a nest with the writer: that is worth more than the place.
    bool may_be_replaced(int32_t reader, Expr read, const Equation& made, size_t dimension) const {
        const Equation& equation = system_.equation(reader);
        if (&equation == &made) {
            for (size_t d = 0; d < made.left.size(); d++) {
                if (d != dimension && read->parts()[d] != made.left[d]) return false;
            }
            return read->kind == Kind::read;
        }
        const int32_t maker = static_cast<int32_t>(&made - system_.equations.data());
        return place_[static_cast<size_t>(reader)] < place_[static_cast<size_t>(maker)] &&
               equation.axes.size() != made.axes.size();
    }

    const System& system_;
    std::vector<std::vector<int32_t>> readers_;
    std::vector<int32_t> place_;  // by equation: in order
};

}  // namespace

std::vector<KeptSteps> kept_steps(const System& system) {
    std::vector<KeptSteps> result(system.tensors.size());
    const bool any = std::ranges::any_of(system.equations, [](const Equation& e) { return !e.dead && e.scan >= 0; });
    if (!any) return result;
    const StepKeeper keeper(system);
    for (size_t t = 0; t < result.size(); t++) {
        if (!system.tensors[t].dead) result[t] = keeper.of(TensorIndex(t));
    }
    return result;
}

}  // namespace heddle::equations
