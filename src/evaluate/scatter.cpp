// Reductions turned round: the points of rows and terms are the lanes, and each term goes to the elements that it
// chooses.
// Every element sees its terms in the order, and in the partial sums, in which the reduction as it is written would.
#include <algorithm>
#include <cstring>

#include "evaluate/executor.h"

namespace heddle::evaluation {
namespace {

size_t lane_bytes(LaneType lanes) { return lanes == LaneType::single ? 4 : 8; }

}  // namespace

Result<void> Executor::run_scatter(const Root& root, const Scatter& scatter) {
    const Region& region = program_.regions[static_cast<size_t>(root.region)];
    const LaneSpace& space = program_.spaces[static_cast<size_t>(region.space)];
    const Reduction& reduction = program_.reductions[static_cast<size_t>(scatter.reduction)];
    const Table& shape = program_.tables[static_cast<size_t>(root.table)];
    TableData& table = tables_[static_cast<size_t>(root.table)];
    const auto points = static_cast<size_t>(shape.points);
    table.values = allocate_buffer(points * lane_bytes(root.lanes));
    if (shape.poisoned) table.poison.resize(points);
    if (bounded_) table.bounds.resize(points);
    Elements elements;
    const size_t size = lane_bytes(reduction.term_lanes);
    int64_t neutral = 0, zero = 0;
    neutral_value(reduction.reducer, reduction.term_type, reduction.term_lanes, &neutral);
    elements.accumulators.resize(points * size);
    fill_lanes(elements.accumulators.data(), reduction.term_lanes, &neutral, shape.points);
    if (in_partials(reduction)) {
        elements.partials.resize(points * size);
        fill_lanes(elements.partials.data(), reduction.term_lanes, &zero, shape.points);
        elements.rounds.resize(points);
    }
    if (bounded_) {
        start_bounds(reduction, 1);
        const auto& state = reduction_bounds_[static_cast<size_t>(scatter.reduction)];
        for (size_t i = 0; i < points; i++) {
            for (int64_t part = 0; part < 3; part++)
                elements.bounds.push_back(state[static_cast<size_t>(part * lane_count)]);
        }
    }
    for (int64_t first = 0; points > 0 && first < space.points; first += lane_count) {
        int64_t count = std::min(lane_count, space.points - first);
        start_block(region.space, first, count);
        run_level(region.levels[0], count);
        for (int64_t lane = 0; lane < count; lane++) scatter_lane(scatter, table, elements, first + lane, lane);
    }
    finish_elements(scatter, table, elements);
    return {};
}

void Executor::scatter_lane(const Scatter& scatter, TableData& table, Elements& elements, int64_t point, int64_t lane) {
    int64_t first = point / scatter.terms * scatter.elements, target = first, round = point % scatter.terms;
    bool taken = true, undecided = false;
    for (const auto& part : scatter.parts) {
        const bool failed = part.poison >= 0 && poison(part.poison)[lane] != 0;
        if (failed) poison_elements(scatter, part, table, first, lane);
        undecided |= bounded_ && bound(part.value)[lane] > 0;
        const int64_t at = place(part, lane);
        taken = taken && !failed && at >= 0;
        target += taken ? at * part.stride : 0;
    }
    if (undecided) {
        for (int64_t i = first; i < first + scatter.elements; i++)
            add_term(scatter, table, elements, i, lane, round, taken && i == target, true);
    } else if (taken) {
        add_term(scatter, table, elements, target, lane, round, true, false);
    }
}

// What a part chooses; -1 if nothing. A condition chooses 0, or nothing.
int64_t Executor::place(const Scatter::Part& part, int64_t lane) const {
    const int64_t value = static_cast<const int64_t*>(view(part.value))[lane];
    if (part.extent == 0) return value ? 0 : -1;
    const auto at = static_cast<int64_t>(static_cast<uint64_t>(value) - static_cast<uint64_t>(part.offset));
    return at >= 0 && at < part.extent ? at : -1;
}

// Of the elements of a row those for which this part is looked at.
void Executor::poison_elements(const Scatter& scatter, const Scatter::Part& failed, TableData& table, int64_t first,
                               int64_t lane) {
    for (int64_t element = 0; element < scatter.elements; element++) {
        const bool looked_at = std::ranges::all_of(failed.after, [&](int32_t index) {
            const auto& part = scatter.parts[static_cast<size_t>(index)];
            const int64_t at = place(part, lane);
            return at >= 0 && (part.extent == 0 || element / part.stride % part.extent == at);
        });
        int32_t& known = table.poison[static_cast<size_t>(first + element)];
        if (looked_at && known == 0) known = poison(failed.poison)[lane];
    }
}

void Executor::add_term(const Scatter& scatter, TableData& table, Elements& elements, int64_t element, int64_t lane,
                        int64_t round, bool taken, bool undecided) {
    const Reduction& reduction = program_.reductions[static_cast<size_t>(scatter.reduction)];
    const auto index = static_cast<size_t>(element);
    const size_t size = lane_bytes(reduction.term_lanes);
    std::byte* accumulator = elements.accumulators.data() + index * size;
    if (taken && reduction.term_poison >= 0 && !table.poison[index])
        table.poison[index] = poison(reduction.term_poison)[lane];
    if (bounded_) {
        std::memcpy(storage(reduction.accumulator), accumulator, size);
        accumulate_term_bound(reduction, elements.bounds.data() + 3 * index, lane, taken, undecided);
    }
    if (!taken) return;
    const std::byte* term = static_cast<const std::byte*>(view(reduction.term)) + static_cast<size_t>(lane) * size;
    if (!in_partials(reduction)) return reduction.kernel(accumulator, term, nullptr, 1);
    std::byte* partial = elements.partials.data() + index * size;
    if (elements.rounds[index] != round / partial_terms) {
        elements.rounds[index] = round / partial_terms;
        reduction.kernel(accumulator, partial, nullptr, 1);
        std::memset(partial, 0, size);
    }
    reduction.kernel(partial, term, nullptr, 1);
}

void Executor::finish_elements(const Scatter& scatter, TableData& table, Elements& elements) {
    const Reduction& reduction = program_.reductions[static_cast<size_t>(scatter.reduction)];
    const size_t size = lane_bytes(reduction.term_lanes), width = lane_bytes(scatter.finish.lanes);
    const auto points = static_cast<int64_t>(elements.accumulators.size() / size);
    for (int64_t first = 0; first < points; first += lane_count) {
        const int64_t count = std::min(lane_count, points - first);
        const auto from = static_cast<size_t>(first), length = static_cast<size_t>(count);
        std::byte* accumulators = elements.accumulators.data() + from * size;
        if (in_partials(reduction))
            reduction.kernel(accumulators, elements.partials.data() + from * size, nullptr, count);
        void* result = storage(scatter.finish.result);
        std::memcpy(result, accumulators, length * size);
        const void* own = result;
        if (scatter.finish.wrap) scatter.finish.wrap(result, &own, count);
        std::memcpy(table.values.get() + from * width, result, length * width);
        if (!bounded_) continue;
        auto& state = reduction_bounds_[static_cast<size_t>(scatter.reduction)];
        for (size_t i = 0; i < length; i++) {
            for (size_t part = 0; part < 3; part++)
                state[part * static_cast<size_t>(lane_count) + i] = elements.bounds[3 * (from + i) + part];
        }
        finish_bounds(scatter.finish, reduction, count);
        std::copy_n(bound(scatter.finish.result), count, table.bounds.begin() + first);
    }
}

}  // namespace heddle::evaluation
