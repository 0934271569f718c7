#include "schedules/tasks.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "schedules/data_ranges.h"
#include "schedules/movements.h"
#include "target/choice_numbers.h"

namespace heddle::schedules {
namespace {

int64_t divide_up(int64_t a, int64_t b) { return b <= 0 ? 0 : (a + b - 1) / b; }
int64_t round_up(int64_t a, int64_t b) { return divide_up(a, b) * b; }
int64_t product(int64_t a, int64_t b) {
    int64_t result = 0;
    return __builtin_mul_overflow(a, b, &result) ? INT64_MAX / 4 : std::min(result, INT64_MAX / 4);
}

using choice_numbers::enough_tasks;
using choice_numbers::kept_in_arrays;
using choice_numbers::kept_in_l2;

class Cutter {
public:
    Cutter(const Kernel& kernel, const Target& target, const std::vector<PhaseGroup>& groups,
           const std::vector<LocalStorage>& storage)
        : kernel_(kernel), target_(target), groups_(groups), storage_(storage) {}

    TaskPlan cut();

private:
    // Steps, and the order of tasks, are chosen for the numbers that there are now; how many tasks there are follows from
    // them for any.
    int64_t extent(AxisId axis) const { return std::max<int64_t>(0, kernel_.axis(axis).extent.number()); }
    TaskCut* find(AxisId axis);
    void list_axes();
    void cut_lanes();
    template <typename Wanted, typename Fits>
    void widen(TaskCut& cut, int64_t enough, Wanted wanted, Fits fits);
    void widen_streams();
    int64_t others(const TaskCut& cut) const;
    void cut_contraction(const PhaseGroup& group);
    void cut_rows(const PhaseGroup& group, const std::vector<AxisId>& rows, int64_t block);
    void cut_phases();
    void grow_tasks();
    void widen_steps();
    int64_t step_bytes() const;
    bool has_steps() const;
    int64_t points(const PhaseGroup& group) const;
    int64_t elements() const;  // the largest number of points that a phase of one task runs over
    void outweigh_light();
    void share_conditions();
    int64_t array_bytes() const;
    void number_tasks();

    const Kernel& kernel_;
    const Target& target_;
    const std::vector<PhaseGroup>& groups_;
    const std::vector<LocalStorage>& storage_;
    TaskPlan plan_;
    std::vector<AxisId> order_;  // outermost first
};

TaskCut* Cutter::find(AxisId axis) {
    for (TaskCut& cut : plan_.axes) {
        if (cut.axis == axis || contains(cut.fused, axis)) return &cut;
    }
    return nullptr;
}

void Cutter::list_axes() {
    const auto& fused = groups_.empty() ? std::vector<AxisId>{} : groups_[0].fused;
    for (AxisId axis : kernel_.common) {
        if (contains(fused, axis) && axis != fused.back()) continue;
        TaskCut cut{axis, {}, maximum(0, kernel_.axis(axis).extent)};
        if (contains(fused, axis)) {
            cut.fused = fused;
            for (AxisId other : fused) {
                if (other != axis) cut.extent = cut.extent * maximum(0, kernel_.axis(other).extent);
            }
        }
        plan_.axes.push_back(cut);
        order_.push_back(axis);
    }
}

void Cutter::cut_lanes() {
    for (TaskCut& cut : plan_.axes) {
        for (const PhaseGroup& group : groups_) {
            if (group.lanes != cut.axis) continue;
            int64_t panel = int64_t{group.width} * group.vectors;
            bool stream = group.reductions.empty() && !group.update;
            // Beside other phases a stream takes the blocks that they want: its masks fit any.
            // Steps that run one after the other want whole vectors.
            const bool steps = group.runs_steps();
            if (stream && !steps && groups_.size() > 1 && group.packed.empty()) continue;
            cut.step =
                std::max(cut.step, stream && !steps
                                       ? round_up(std::min(cut.extent.number(), choice_numbers::longest_stream(target_)), panel)
                                       : panel);
            if (!group.packed.empty()) cut.panel = std::lcm(cut.panel, panel);
        }
        cut.step = round_up(cut.step, cut.panel);
    }
}

// Tasks along the other axes.
int64_t Cutter::others(const TaskCut& cut) const {
    int64_t count = 1;
    for (const TaskCut& axis : plan_.axes) {
        if (axis.axis != cut.axis) count = product(count, std::max<int64_t>(1, divide_up(axis.extent.number(), axis.step)));
    }
    return count;
}

// Doubles the step as long as that is wanted, `enough` tasks are left, and what the doubled one needs fits.
template <typename Wanted, typename Fits>
void Cutter::widen(TaskCut& cut, int64_t enough, Wanted wanted, Fits fits) {
    while (cut.step < cut.extent.number() && wanted()) {
        const int64_t before = cut.step;
        cut.step = product(2, before);
        if (product(others(cut), divide_up(cut.extent.number(), cut.step)) >= enough && fits()) continue;
        cut.step = before;
        return;
    }
}

// Streams that hand one another arrays: whole vectors, and as many side by side as leave the arrays in L2 and tasks for
// every core. So a window over rows reads what another has made of them while it is there.
void Cutter::widen_streams() {
    const auto is_stream = [](const PhaseGroup& group) {
        return group.reductions.empty() && !group.update && group.ordered < 0 && group.packed.empty();
    };
    const auto has_rows = [](const PhaseGroup& group) { return group.axes.size() > 1; };
    if (groups_.size() < 2 || !std::ranges::all_of(groups_, is_stream) || std::ranges::none_of(groups_, has_rows))
        return;
    // Bands of rows that are as long as can be follow one another in memory.
    const bool bands = std::ranges::any_of(groups_, [](const PhaseGroup& group) { return group.banded >= 0; });
    const int64_t enough = bands ? target_.cores : choice_numbers::rounds_of_cores * target_.cores;
    for (TaskCut& cut : plan_.axes) {
        int64_t panel = 0;
        for (const PhaseGroup& group : groups_) {
            if (group.lanes == cut.axis) panel = std::max(panel, int64_t{group.width} * group.vectors);
        }
        if (panel == 0) continue;
        cut.step = round_up(cut.step, panel);
        widen(cut, enough, [] { return true; }, [&] { return array_bytes() <= kept_in_arrays(target_); });
    }
}

// The row axis in blocks; whole image rows of several where it is short.
void Cutter::cut_rows(const PhaseGroup& group, const std::vector<AxisId>& rows, int64_t block) {
    TaskCut* cut = find(group.rows);
    TaskCut* outer = nullptr;
    for (AxisId axis : rows) {
        TaskCut* other = find(axis);
        if (other != cut && other->extent.number() > 1) outer = other;
    }
    int64_t n = std::max<int64_t>(1, cut->extent.number()), mr = group.maximum_rows;
    bool few = n < (mr - 1) * (mr - 2) &&
               std::find(group.row_sizes.begin(), group.row_sizes.end(), mr - 1) == group.row_sizes.end();
    if (few || (outer && n <= choice_numbers::whole_image_row && n >= block)) {
        cut->step = n;
    } else if (n >= block || !outer) {
        cut->step = divide_up(n, divide_up(n, block));
    } else {
        cut->step = n;
        outer->step = std::max<int64_t>(1, block / n);
    }
}

void Cutter::cut_contraction(const PhaseGroup& group) {
    Movements movements(kernel_, storage_);
    std::vector<Expr> vectors;
    for (EquationIndex index : group.reductions) {
        for (const ReadAccess& read : reads_of(kernel_.equations[static_cast<size_t>(index)].right)) {
            if (movements.of(read.value, group.lanes) != Movement::still) vectors.push_back(read.value);
        }
    }
    std::vector<AxisId> batch, rows, lanes;
    int64_t m = 1, batches = 1, k = 1, window = 1;
    for (const TaskCut& cut : plan_.axes) {
        bool moves = std::any_of(vectors.begin(), vectors.end(),
                                 [&](Expr read) { return movements.of(read, cut.axis) != Movement::still; });
        if (cut.axis == group.lanes) {
            lanes.push_back(cut.axis);
        } else if (moves && cut.axis != group.rows) {
            batch.push_back(cut.axis);
            batches = product(batches, cut.extent.number());
        } else {
            rows.push_back(cut.axis);
            m = product(m, std::max<int64_t>(1, cut.extent.number()));
        }
    }
    for (AxisId axis : group.reduced) {
        k = product(k, std::max<int64_t>(1, extent(axis)));
        for (EquationIndex index : group.reductions) {
            if (!is_window(kernel_.equations[static_cast<size_t>(index)], axis)) continue;
            window = product(window, std::max<int64_t>(1, extent(axis)));
            break;
        }
    }
    int64_t element = std::max(1, target_.vector_bytes / group.width), panel = int64_t{group.width} * group.vectors;
    int64_t panels = divide_up(extent(group.lanes), panel), tiles = divide_up(m, group.maximum_rows);
    int64_t packed = product(product(element, k), extent(group.lanes)),
            row = std::max<int64_t>(1, product(element, k) / window);
    int64_t small =
        group.maximum_rows * std::clamp<int64_t>(product(product(tiles, panels), batches) / enough_tasks(target_), 1,
                                                 choice_numbers::most_row_tiles);
    bool stays = packed <= kept_in_l2(target_), panels_first = !stays && product(row, m) <= kept_in_l2(target_);
    int64_t block = stays || panels_first ? small
                                          : std::max<int64_t>(choice_numbers::least_row_tiles * group.maximum_rows,
                                                              kept_in_l2(target_) / row);
    order_ = batch;
    const auto& first = panels_first ? lanes : rows;
    const auto& second = panels_first ? rows : lanes;
    order_.insert(order_.end(), first.begin(), first.end());
    order_.insert(order_.end(), second.begin(), second.end());
    cut_rows(group, rows, block);
    plan_.visit.rows = rows;
    plan_.visit.length = m;
    plan_.visit.of_task = !stays && !panels_first;
    if (!plan_.visit.of_task) return;
    plan_.visit.length = 1;
    for (AxisId axis : rows) {
        const TaskCut* cut = find(axis);
        plan_.visit.length = product(plan_.visit.length, std::max<int64_t>(1, std::min(cut->step, cut->extent.number())));
    }
}

int64_t Cutter::array_bytes() const {
    int64_t total = 0;
    for (size_t t = 0; t < storage_.size(); t++) {
        if (storage_[t].kind != LocalStorage::Kind::array) continue;
        int64_t size = bytes(kernel_.tensors[t].dtype);
        for (size_t d = 0; d < storage_[t].of_task.size(); d++) {
            const TaskCut* cut = storage_[t].of_task[d] < 0 ? nullptr : plan_.find(storage_[t].of_task[d]);
            int64_t whole = kernel_.tensors[t].dimensions[d].extent.number();
            size = product(size, cut ? std::min(cut->step, std::max<int64_t>(1, cut->extent.number())) : whole);
        }
        total = std::min(INT64_MAX / 4, total + size);
    }
    return total;
}

// A task of several phases has one block of rows; its arrays take at most half of L2.
void Cutter::cut_phases() {
    for (const PhaseGroup& group : groups_) {
        if (group.rows < 0 || !contains(kernel_.common, group.rows)) continue;
        TaskCut* cut = find(group.rows);
        int64_t mr = group.maximum_rows,
                most = group.contraction ? std::max(mr, choice_numbers::rows_of_several_phases(target_) / mr * mr) : mr;
        int64_t n = std::max<int64_t>(1, cut->extent.number()), blocks = divide_up(n, most), others = this->others(*cut);
        // As many blocks for each core: one left over would cost as much as a whole round of them.
        if (product(blocks, others) < enough_tasks(target_)) {
            blocks = std::min(
                divide_up(n, mr),
                round_up(std::max<int64_t>(blocks, divide_up(choice_numbers::rounds_of_cores * target_.cores, others)),
                         target_.cores));
        }
        // Another phase may have its lanes along this one's rows.
        const int64_t least = std::max(cut->step, round_up(mr, cut->panel));
        const int64_t step = round_up(divide_up(n, std::max<int64_t>(1, blocks)), cut->panel);
        for (cut->step = std::max(cut->step, step); cut->step > least; cut->step = least) {
            if (array_bytes() <= kept_in_arrays(target_)) break;
        }
    }
}

// That the phase runs over in one task.
int64_t Cutter::points(const PhaseGroup& group) const {
    int64_t points = 1;
    auto count = [&](AxisId axis, bool free) {
        const TaskCut* cut = free ? plan_.find(axis) : nullptr;
        int64_t n = cut ? std::min(cut->step, std::max<int64_t>(1, cut->extent.number())) : extent(axis);
        points = product(points, std::max<int64_t>(1, n));
    };
    for (AxisId axis : group.axes) count(axis, true);
    for (AxisId axis : group.reduced) count(axis, false);
    return points;
}

int64_t Cutter::elements() const {
    int64_t most = 1;
    for (const PhaseGroup& group : groups_) most = std::max(most, points(group));
    return most;
}

// What every task does again (a table that its points are looked up in) is little beside its own part, while there are
// tasks for every core.
void Cutter::outweigh_light() {
    constexpr int64_t least_share = 16;
    for (TaskCut& cut : plan_.axes) {
        const auto has_axis = [&](const PhaseGroup& group) { return contains(group.axes, cut.axis); };
        const auto most = [&](bool of_axis) {
            int64_t found = 0;
            for (const PhaseGroup& group : groups_) {
                const int64_t steps = group.ordered < 0 ? 1 : std::max<int64_t>(1, extent(group.ordered));
                if (has_axis(group) == of_axis) found = std::max(found, product(steps, points(group)));
            }
            return found;
        };
        const int64_t again = product(least_share, most(false));
        widen(
            cut, choice_numbers::rounds_of_cores * target_.cores, [&] { return most(true) < again; },
            [&] { return array_bytes() <= kept_in_arrays(target_); });
    }
}

// Updates that a condition leaves few of go through all terms in every task: no more tasks than cores want.
void Cutter::share_conditions() {
    for (const PhaseGroup& group : groups_) {
        for (TaskCut& cut : plan_.axes) {
            const bool inner = group.update && group.lanes < 0 && contains(group.axes, cut.axis);
            if (!inner || conditions_of_data(kernel_, group, cut.axis).empty()) continue;
            const int64_t before = cut.step;
            cut.step = std::max(before, divide_up(cut.extent.number(), choice_numbers::rounds_of_cores * target_.cores));
            while (cut.step > before && array_bytes() > kept_in_arrays(target_))
                cut.step = std::max(before, cut.step / 2);
        }
    }
}

// Small tasks take more of the innermost axes, as long as there are tasks enough for everybody.
void Cutter::grow_tasks() {
    for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
        TaskCut* cut = find(*at);
        const int64_t other = others(*cut);
        int64_t wanted = choice_numbers::task_elements(target_) / std::max<int64_t>(1, elements());
        int64_t counts = divide_up(cut->extent.number(), cut->step);
        int64_t allowed = divide_up(product(counts, other), enough_tasks(target_));
        int64_t factor = std::clamp<int64_t>(std::min(wanted, allowed), 1, std::max<int64_t>(1, counts));
        int64_t before = cut->step;
        cut->step = product(before, factor);
        if (!has_steps()) {
            if (factor > 1 && array_bytes() > kept_in_arrays(target_)) cut->step = before;
            continue;
        }
        // Each step goes through all of the arrays.
        while (factor > 1 && array_bytes() > choice_numbers::kept_in_l1(target_)) {
            factor /= 2;
            cut->step = product(before, factor);
        }
    }
}

// Of the arrays, what one step of the scans touches.
int64_t Cutter::step_bytes() const {
    int64_t total = 0;
    for (const KernelEquation& e : kernel_.equations) {
        if (e.ordered < 0 || storage_[static_cast<size_t>(e.tensor)].kind != LocalStorage::Kind::array) continue;
        int64_t size = bytes(kernel_.tensor(e.tensor).dtype);
        for (AxisId axis : e.axes) {
            const TaskCut* cut = plan_.find(axis);
            size = product(size, std::max<int64_t>(1, cut ? std::min(cut->step, cut->extent.number()) : extent(axis)));
        }
        total = std::min(INT64_MAX / 4, total + size);
    }
    return total;
}

// Steps that walk whole rows (vector_steps.h): as long ones as leave a task for every core, and what a step makes in
// L1.
void Cutter::widen_steps() {
    for (TaskCut& cut : plan_.axes) {
        const bool walks_rows = std::ranges::any_of(groups_, [&](const PhaseGroup& group) {
            return group.ordered >= 0 && !group.in_turn && group.lanes == cut.axis && !group.transposed;
        });
        const int64_t row = product(cut.extent.number(), choice_numbers::least_element);
        const bool wanted = walks_rows && row >= choice_numbers::least_streamed_row;
        widen(
            cut, target_.cores, [&] { return wanted; },
            [&] { return step_bytes() <= choice_numbers::kept_in_l1(target_); });
    }
}

bool Cutter::has_steps() const {
    return std::ranges::any_of(groups_, [](const PhaseGroup& group) { return group.ordered >= 0; });
}

void Cutter::number_tasks() {
    plan_.tasks = 1;
    for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
        TaskCut* cut = find(*at);
        cut->step = std::max<int64_t>(1, cut->step);
        assert(cut->step % cut->panel == 0);
        cut->count = ceil_divide(cut->extent, cut->step);
        cut->divisor = maximum(plan_.tasks, 1);
        plan_.tasks = plan_.tasks * cut->count;
    }
    for (TaskCut& cut : plan_.axes) cut.count = maximum(cut.count, 1);
}

TaskPlan Cutter::cut() {
    list_axes();
    cut_lanes();
    widen_streams();
    bool single = groups_.size() == 1;
    bool contraction =
        single && groups_[0].contraction && !groups_[0].lanes_reduced && contains(kernel_.common, groups_[0].rows);
    if (contraction) {
        cut_contraction(groups_[0]);
    } else if (single && groups_[0].transposed && contains(kernel_.common, groups_[0].rows)) {
        find(groups_[0].rows)->step = round_up(choice_numbers::transposed_rows, groups_[0].width);
    } else if (single && groups_[0].rows >= 0 && contains(kernel_.common, groups_[0].rows)) {
        TaskCut* cut = find(groups_[0].rows);
        cut->step = std::min<int64_t>(std::max<int64_t>(1, cut->extent.number()),
                                      choice_numbers::pooled_row_tiles * groups_[0].maximum_rows);
    } else if (!single) {
        cut_phases();
    }
    if (!contraction || groups_[0].windowed) grow_tasks();
    widen_steps();
    if (!single) outweigh_light();
    share_conditions();
    number_tasks();
    return plan_;
}

}  // namespace

const TaskCut* TaskPlan::find(AxisId axis) const {
    for (const TaskCut& cut : axes) {
        if (cut.axis == axis || contains(cut.fused, axis)) return &cut;
    }
    return nullptr;
}

TaskPlan cut_tasks(const Kernel& kernel, const Target& target, const std::vector<PhaseGroup>& groups,
                   const std::vector<LocalStorage>& storage) {
    return Cutter(kernel, target, groups, storage).cut();
}

}  // namespace heddle::schedules
