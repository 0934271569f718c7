#include "schedules/bands.h"

#include <algorithm>
#include <map>

#include "expr/arena_interval.h"
#include "target/choice_numbers.h"
#include "zspace/checked.h"

namespace heddle::schedules {
namespace {

using Groups = std::vector<const std::vector<Touch>*>;

// What a coordinate may be less the axis.
struct Offsets {
    Size low = 0, high = 0;
    // Nothing where a size says how far.
    std::optional<int64_t> reach() const {
        if (low.named() || high.named()) return std::nullopt;
        return std::max(std::abs(low.number()), std::abs(high.number()));
    }
};

class Distances {
public:
    Distances(const Kernel& kernel, AxisId axis)
        : kernel_(kernel), axis_(axis), extent_(maximum(kernel.axis(axis).extent, 1)) {}

    std::optional<Offsets> of(Expr coordinate) const {
        switch (coordinate->kind) {
        case Kind::minimum:
        case Kind::maximum: return clamped(coordinate);
        case Kind::modulo: return wrapped(coordinate);
        default: return sum(coordinate);
        }
    }

private:
    static constexpr int64_t far = int64_t{1} << 40;

    static std::optional<Offsets> moved(const Offsets& offsets, const Interval& by, const Size& factor) {
        const auto a = checked_multiply(by.low, factor), b = checked_multiply(by.high, factor);
        if (!by.known() || !a || !b || absolute(*a) > far || absolute(*b) > far) return std::nullopt;
        return Offsets{offsets.low + lesser(*a, *b), offsets.high + greater(*a, *b)};
    }

    // One of its terms is the axis, or moves as the axis does.
    std::optional<Offsets> sum(Expr coordinate) const {
        const CoordinateParts parts = parts_of(coordinate);
        std::optional<Offsets> along;
        if (coefficient(coordinate, axis_).same_as(1)) along = Offsets{};
        std::vector<std::pair<Interval, Size>> others = {{Interval{parts.constant, parts.constant}, 1}};
        for (const auto& [value, factor] : parts.values) {
            if (value == coordinate) return std::nullopt;
            if (!depends_on(value, axis_)) {
                others.emplace_back(expr::interval(value), factor);
                continue;
            }
            if (along || !factor.same_as(1)) return std::nullopt;
            along = of(value);
            if (!along) return std::nullopt;
        }
        for (const auto& [axis, factor] : parts.axes) {
            const Size last = maximum(kernel_.axis(axis).extent, 1) - 1;
            if (axis != axis_) others.emplace_back(Interval{0, last}, factor);
        }
        for (const auto& [by, factor] : others) {
            if (along) along = moved(*along, by, factor);
        }
        return along;
    }

    // Rows are counted round: what is added is as near as it can be.
    std::optional<Offsets> wrapped(Expr coordinate) const {
        const auto inside = of(coordinate->parts()[0]);
        if (!inside || coordinate->integer != extent_) return std::nullopt;
        const Size middle = inside->low + floor_divide(inside->high - inside->low, 2);
        const int64_t turns = whole_quotient(middle + floor_divide(extent_, 2), extent_);
        return Offsets{inside->low - turns * extent_, inside->high - turns * extent_};
    }

    // Not below the first row, not beyond the last: nearer to the row than before.
    std::optional<Offsets> clamped(Expr coordinate) const {
        for (size_t i : {size_t{0}, size_t{1}}) {
            Expr bound = coordinate->parts()[i], other = coordinate->parts()[1 - i];
            if (bound->kind != Kind::integer) continue;
            const bool beside = coordinate->kind == Kind::maximum ? bound->integer <= 0 : bound->integer >= extent_ - 1;
            const auto inside = beside ? of(other) : std::nullopt;
            if (!inside) return std::nullopt;
            return Offsets{minimum(inside->low, 0), maximum(inside->high, 0)};
        }
        return std::nullopt;
    }

    const Kernel& kernel_;
    const AxisId axis_;
    const Size extent_;
};

// By memory that the groups write: the dimension that is the axis wherever they do.
std::optional<std::map<TensorIndex, size_t>> rows_of_written(const Kernel& kernel, AxisId axis, const Groups& groups) {
    std::map<TensorIndex, size_t> rows;
    for (const auto* touches : groups) {
        for (const Touch& touch : *touches) {
            if (!touch.writes) continue;
            const auto moves = [&](Expr c) { return plain_axis(c) == axis; };
            const auto at = std::ranges::find_if(touch.coordinates, moves);
            if (at == touch.coordinates.end()) return std::nullopt;
            const auto dimension = static_cast<size_t>(at - touch.coordinates.begin());
            const auto [known, is_new] = rows.try_emplace(touch.memory, dimension);
            const bool whole = kernel.tensor(touch.tensor).dimensions[dimension].extent == kernel.axis(axis).extent;
            if (known->second != dimension || !whole || kernel.tensor(touch.memory).may_alias()) return std::nullopt;
        }
    }
    return rows;
}

// Bytes that the groups touch in a step, of all rows.
Size bytes_of_step(const Kernel& kernel, AxisId axis, AxisId ordered, const Groups& groups, bool likely) {
    const auto extent_of = [&](const Touch& touch, size_t d) {
        Expr c = touch.coordinates[d];
        const bool one = likely && c->axes.size() == 1;
        const Size& whole = kernel.tensor(touch.tensor).dimensions[d].extent;
        const Size extent = one ? Size(kernel.hint(c->axes[0])) : likely ? Size(whole.number()) : whole;
        return maximum(depends_on(c, ordered) ? minimum(extent, 2) : extent, 1);
    };
    std::map<TensorIndex, Size> bytes_of;
    for (const auto* touches : groups) {
        for (const Touch& touch : *touches) {
            if (std::ranges::none_of(touch.coordinates, [&](Expr c) { return depends_on(c, axis); })) continue;
            Size size = bytes(kernel.tensor(touch.tensor).dtype);
            for (size_t d = 0; d < touch.coordinates.size(); d++) size *= extent_of(touch, d);
            bytes_of[touch.memory] = maximum(bytes_of[touch.memory], size);
        }
    }
    Size all = 0;
    for (const auto& [unused, size] : bytes_of) all += size;
    return all;
}

}  // namespace

std::optional<int64_t> reach(const Kernel& kernel, AxisId axis, const Groups& groups) {
    const auto rows = rows_of_written(kernel, axis, groups);
    if (!rows) return std::nullopt;
    const Distances distances(kernel, axis);
    std::map<TensorIndex, TensorIndex> tensors;  // by memory: one tensor alone lies there
    int64_t most = 0;
    for (const auto* touches : groups) {
        for (const Touch& touch : *touches) {
            const auto row = rows->find(touch.memory);
            if (row == rows->end()) continue;
            if (tensors.try_emplace(touch.memory, touch.tensor).first->second != touch.tensor) return std::nullopt;
            const auto offsets = distances.of(touch.coordinates[row->second]);
            const auto reach = offsets ? offsets->reach() : std::nullopt;
            if (!reach) return std::nullopt;
            most = std::max(most, *reach);
        }
    }
    return most;
}

std::optional<Bands> bands_along(const Kernel& kernel, const Target& target, AxisId axis, AxisId ordered, int64_t turns,
                                 int64_t parts, int64_t unit, const Groups& groups) {
    const auto far = reach(kernel, axis, groups);
    if (!far) return std::nullopt;
    const int64_t slope = std::max(unit, *far);
    const int64_t band_bytes = choice_numbers::band_bytes(target);
    // The steps of a block, for so many bands: seams leave each other alone.
    const auto steps_of = [&](const Size& rows, const Size& count) {
        return floor_divide(floor_divide(floor_divide(rows, count), 2 * slope) + 1, turns);
    };
    const auto count_of = [&](const Size& rows, const Size& size) {
        const Size most = floor_divide(rows, 2 * slope * (choice_numbers::least_steps_of_bands * turns - 1));
        const Size wanted = minimum(ceil_divide(size, band_bytes), rows);
        return maximum(minimum(ceil_divide(wanted, parts), floor_divide(most, parts)), 1) * parts;
    };
    // What the code is follows from likely sizes ...
    const Size likely = std::max<int64_t>(1, kernel.hint(axis));
    const Size size = bytes_of_step(kernel, axis, ordered, groups, true);
    const Size steps = minimum(Size(kernel.hint(ordered)), steps_of(likely, count_of(likely, size)));
    if (size <= band_bytes || steps < choice_numbers::least_steps_of_bands) return std::nullopt;
    // ... and numbers from this launch's. Of rows too few there is one band, step after step.
    const Size rows = maximum(kernel.axis(axis).extent, 0), all = maximum(kernel.axis(ordered).extent, 1);
    Bands bands = {.axis = axis, .slope = slope, .turns = turns};
    bands.count = count_of(rows, bytes_of_step(kernel, axis, ordered, groups, false));
    bands.steps = minimum(all, steps_of(rows, bands.count));
    if (bands.steps < 1) bands.count = 1, bands.slope = 0, bands.steps = all;
    return bands;
}

}  // namespace heddle::schedules
