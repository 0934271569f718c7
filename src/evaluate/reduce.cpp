// Reductions of the executor.
#include <algorithm>
#include <cstring>

#include "evaluate/executor.h"

namespace heddle::evaluation {
void Executor::start_accumulators(const Reduction& reduction, int64_t count) {
    int64_t value = 0;
    if (is_argument(reduction.reducer)) {
        value = -1;  // of no terms
        return fill_lanes(storage(reduction.accumulator), LaneType::integer, &value, count);
    }
    neutral_value(reduction.reducer, reduction.term_type, reduction.term_lanes, &value);
    fill_lanes(storage(reduction.accumulator), reduction.term_lanes, &value, count);
    if (in_partials(reduction)) fill_lanes(storage(reduction.partial), reduction.term_lanes, &value, count);
}

void Executor::accumulate(const Step& step, const Reduction& reduction, int64_t position, int64_t step_size,
                          int64_t round, int64_t count) {
    auto* filter = reduction.filter >= 0 ? static_cast<const int64_t*>(view(reduction.filter)) : nullptr;
    const void* term = view(reduction.term);
    if (step.poison >= 0) accumulate_poison(reduction, count);
    if (bounded_) accumulate_bounds(reduction, count);
    if (is_argument(reduction.reducer)) {
        auto kernel = argument_kernel(reduction.reducer, reduction.term_type, reduction.term_lanes);
        return kernel(storage(reduction.partial), static_cast<int64_t*>(storage(reduction.accumulator)), term, filter,
                      position, step_size, count);
    }
    if (!in_partials(reduction)) return reduction.kernel(storage(reduction.accumulator), term, filter, count);
    reduction.kernel(storage(reduction.partial), term, filter, count);
    if (round % partial_terms == partial_terms - 1) finish_accumulators(reduction, count);
}

void Executor::finish_accumulators(const Reduction& reduction, int64_t count) {
    if (!in_partials(reduction)) return;
    int64_t zero = 0;
    reduction.kernel(storage(reduction.accumulator), storage(reduction.partial), nullptr, count);
    fill_lanes(storage(reduction.partial), reduction.term_lanes, &zero, count);
}

void Executor::accumulate_poison(const Reduction& reduction, int64_t count) {
    int32_t* into = poison(reduction.accumulator_poison);
    auto* filter = reduction.filter >= 0 ? static_cast<const int64_t*>(view(reduction.filter)) : nullptr;
    const int32_t* of_filter = reduction.filter_poison >= 0 ? poison(reduction.filter_poison) : nullptr;
    const int32_t* of_term = reduction.term_poison >= 0 ? poison(reduction.term_poison) : nullptr;
    for (int64_t i = 0; i < count; i++) {
        if (into[i]) continue;
        if (of_filter && of_filter[i]) {
            into[i] = of_filter[i];
        } else if (of_term && (!filter || filter[i])) {
            into[i] = of_term[i];
        }
    }
}

void Executor::run_reduce(const Step& step, int64_t count) {
    const Reduction& reduction = program_.reductions[static_cast<size_t>(step.index)];
    void* result = storage(step.result);
    reduction.over_lanes ? reduce_over_lanes(step, reduction, count) : reduce_over_loops(step, reduction, count);
    if (step.wrap) {
        const void* own = result;
        step.wrap(result, &own, count);
    }
}

void Executor::reduce_over_loops(const Step& step, const Reduction& reduction, int64_t count) {
    const Region& region = program_.regions[static_cast<size_t>(reduction.region)];
    size_t depth = reduction.loops.size();
    std::vector<int64_t> saved;
    for (VariableId id : reduction.loops) saved.push_back(std::exchange(scalars_[static_cast<size_t>(id)], 0));
    start_accumulators(reduction, count);
    if (bounded_) start_bounds(reduction, count);
    if (step.poison >= 0) std::fill_n(poison(reduction.accumulator_poison), count, 0);
    bool empty = std::ranges::any_of(reduction.extents, [](int64_t extent) { return extent == 0; });
    size_t moved = 0;  // the outermost loop that moved
    for (int64_t position = 0; !empty; position++) {
        for (size_t level = moved + 1; level <= depth; level++) run_level(region.levels[level], count);
        accumulate(step, reduction, position, 0, position, count);
        size_t loop = depth;
        while (loop > 0) {
            int64_t& value = scalars_[static_cast<size_t>(reduction.loops[loop - 1])];
            if (++value < reduction.extents[loop - 1]) break;
            value = 0;
            loop--;
        }
        if (loop == 0) break;
        moved = loop - 1;
    }
    finish_accumulators(reduction, count);
    for (size_t i = 0; i < depth; i++) scalars_[static_cast<size_t>(reduction.loops[i])] = saved[i];
    std::memcpy(storage(step.result), storage(reduction.accumulator),
                static_cast<size_t>(count) * (step.lanes == LaneType::single ? 4 : 8));
    if (step.poison >= 0) std::copy_n(poison(reduction.accumulator_poison), count, poison(step.poison));
    if (bounded_) finish_bounds(step, reduction, count);
}

void Executor::reduce_over_lanes(const Step& step, const Reduction& reduction, int64_t count) {
    const Region& region = program_.regions[static_cast<size_t>(reduction.region)];
    const LaneSpace& space = program_.spaces[static_cast<size_t>(region.space)];
    for (int64_t lane = 0; lane < count; lane++) {
        for (auto [variable, slot] : reduction.outer) {
            scalars_[static_cast<size_t>(variable)] = static_cast<const int64_t*>(storage(slot))[lane];
        }
        int64_t width = std::min(lane_count, space.points);
        for (const auto& import : reduction.imports) {
            size_t size = import.lanes == LaneType::single ? 4 : 8;
            fill_lanes(storage(import.inner), import.lanes,
                       static_cast<const std::byte*>(view(import.outer)) + static_cast<size_t>(lane) * size, width);
            if (import.inner_poison >= 0)
                std::fill_n(poison(import.inner_poison), width, poison(import.outer_poison)[lane]);
        }
        start_accumulators(reduction, width);
        if (step.poison >= 0) std::fill_n(poison(reduction.accumulator_poison), width, 0);
        for (int64_t first = 0; first < space.points; first += lane_count) {
            int64_t inner = std::min(lane_count, space.points - first);
            start_block(region.space, first, inner);
            run_level(region.levels[0], inner);
            accumulate(step, reduction, first, 1, first / lane_count, inner);
        }
        finish_accumulators(reduction, width);
        combine_lanes(step, reduction, lane, width);
    }
}

// The partial results of `count` lanes to one: halves onto halves, in a fixed order.
void Executor::combine_lanes(const Step& step, const Reduction& reduction, int64_t lane, int64_t count) {
    auto* lanes = static_cast<std::byte*>(storage(reduction.accumulator));
    size_t size = is_argument(reduction.reducer) || reduction.term_lanes != LaneType::single ? 8 : 4;
    auto* result = static_cast<std::byte*>(storage(step.result)) + static_cast<size_t>(lane) * size;
    if (step.poison >= 0) {
        const int32_t* from = poison(reduction.accumulator_poison);
        auto* bad = std::find_if(from, from + count, [](int32_t id) { return id != 0; });
        poison(step.poison)[lane] = bad == from + count ? 0 : *bad;
    }
    if (is_argument(reduction.reducer)) {
        // Ordered by position, so that the first of equals wins: offer the lanes' best terms one by one.
        auto* index = reinterpret_cast<int64_t*>(lanes);
        size_t term_size = reduction.term_lanes == LaneType::single ? 4 : 8;
        auto* best = static_cast<std::byte*>(storage(reduction.partial));
        std::vector<int64_t> order;
        for (int64_t i = 0; i < count; i++) {
            if (index[i] >= 0) order.push_back(i);
        }
        std::ranges::sort(order, {}, [&](int64_t i) { return index[i]; });
        auto kernel = argument_kernel(reduction.reducer, reduction.term_type, reduction.term_lanes);
        int64_t winner_term = 0, winner = -1;
        for (int64_t i : order)
            kernel(&winner_term, &winner, best + static_cast<size_t>(i) * term_size, nullptr, index[i], 0, 1);
        std::memcpy(result, &winner, size);
        return;
    }
    for (int64_t live = count; live > 1;) {
        int64_t half = (live + 1) / 2;
        reduction.kernel(lanes, lanes + static_cast<size_t>(half) * size, nullptr, live - half);
        live = half;
    }
    if (count == 0) {
        int64_t neutral = 0;
        neutral_value(reduction.reducer, reduction.term_type, reduction.term_lanes, &neutral);
        std::memcpy(lanes, &neutral, size);
    }
    std::memcpy(result, lanes, size);
}

}  // namespace heddle::evaluation
