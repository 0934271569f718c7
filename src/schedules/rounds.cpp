#include "schedules/rounds.h"

#include <algorithm>
#include <numeric>

#include "support/thread_pool.h"
#include "target/choice_numbers.h"
#include "zspace/checked.h"

namespace heddle::schedules {
namespace {

constexpr int64_t most_parts = ThreadPool::most_parts;

class RoundPlanner {
public:
    RoundPlanner(const Kernel& kernel, const Target& target, std::vector<PhaseGroup>& groups,
                 const std::vector<LocalStorage>& storage)
        : kernel_(kernel), target_(target), groups_(groups), storage_(storage) {
        plan_.parts = std::min<int64_t>(target.cores, most_parts);
        for (const PhaseGroup& group : groups_) {
            touches_.push_back(touches_of(group));
            seconds_.push_back(seconds_of(group));
        }
    }

    std::optional<RoundPlan> plan() {
        const bool fits = std::ranges::all_of(groups_, [](const PhaseGroup& group) {
            return group.vector_steps < 0 && group.block < 0 && group.limits.empty() && group.fused.empty();
        });
        if (!fits) return std::nullopt;
        // All phases in parts, or only those whose parts are worth a barrier.
        double alone = 0;
        for (size_t g = 0; g < groups_.size(); g++) alone += seconds_[g] * steps_of(groups_[g]);
        cut(barrier());
        const double some = seconds();
        cut(0);
        const double all = seconds();
        if (some < all) cut(barrier());
        const bool pays = plan_.parts > 1 && std::min(some, all) < choice_numbers::share_for_rounds * alone;
        if (!cut_bands() && !pays) {
            for (PhaseGroup& group : groups_) group.parted = no_id;
            return std::nullopt;
        }
        number_rounds();
        return plan_;
    }

private:
    const KernelEquation& equation(EquationIndex i) const { return kernel_.equations[static_cast<size_t>(i)]; }
    double hint(AxisId axis) const { return static_cast<double>(std::max<int64_t>(1, kernel_.hint(axis))); }
    double steps_of(const PhaseGroup& group) const { return group.ordered < 0 ? 1.0 : hint(group.ordered); }
    double barrier() const { return choice_numbers::launches_a_barrier * target_.launch_seconds; }

    // A lower bound: nothing waits for memory.
    double seconds_of(const PhaseGroup& group) const {
        double points = 1, terms = 1, instructions = 0;
        for (AxisId axis : group.axes) points *= hint(axis);
        for (AxisId axis : group.reduced) terms *= hint(axis);
        for (EquationIndex index : group.equations()) {
            const KernelEquation& e = equation(index);
            const bool each = e.reducer || e.update || contains(group.before, index);
            instructions += static_cast<double>(1 + code_size(e.right, group.lanes)) * (each ? terms : 1.0);
        }
        const double cycles_a_second = target_.operations / (2 * target_.fma_per_cycle * target_.lanes(4));
        const double lanes = group.lanes < 0 ? 1.0 : group.width;
        return points * instructions / lanes / (choice_numbers::instructions_a_cycle * cycles_a_second);
    }

    static bool contains(const std::vector<EquationIndex>& list, EquationIndex index) {
        return std::ranges::find(list, index) != list.end();
    }

    TensorIndex memory_of(TensorIndex tensor) const {
        const LocalStorage& local = storage_[static_cast<size_t>(tensor)];
        const bool elsewhere = local.kind == LocalStorage::Kind::alias || local.kind == LocalStorage::Kind::output;
        return elsewhere ? memory_of(local.target) : tensor;
    }

    bool is_stored(TensorIndex tensor) const {
        const auto kind = storage_[static_cast<size_t>(tensor)].kind;
        return kind != LocalStorage::Kind::in_register && kind != LocalStorage::Kind::unused;
    }

    std::vector<Touch> touches_of(const PhaseGroup& group) const {
        std::vector<Touch> touches;
        const auto add = [&](TensorIndex tensor, Coordinates at, bool writes) {
            if (is_stored(tensor)) touches.push_back({tensor, memory_of(tensor), {at.begin(), at.end()}, writes});
        };
        for (EquationIndex index : group.equations()) {
            const KernelEquation& e = equation(index);
            add(e.tensor, e.left, true);
            std::vector<Expr> sides = e.left;
            sides.push_back(e.right);
            for (Expr side : sides) {
                for (const ReadAccess& read : reads_of(side)) add(read.tensor, coordinates_of(read.value), false);
            }
        }
        return touches;
    }

    // ---- parts

    // Points that stay together: vectors of lanes, panels, transposed tiles.
    static int64_t unit(const PhaseGroup& group, AxisId axis) {
        if (axis == group.rows && group.transposed) return group.width;
        if (axis != group.lanes) return 1;
        return group.packed.empty() ? group.width : int64_t{group.width} * group.vectors;
    }

    // The share of the phase that the largest part is.
    double share(const PhaseGroup& group, AxisId axis) const {
        const int64_t extent = std::max<int64_t>(1, kernel_.hint(axis));
        const int64_t most = ceil_divide(ceil_divide(extent, plan_.parts), unit(group, axis)) * unit(group, axis);
        return std::min(1.0, static_cast<double>(most) / static_cast<double>(extent));
    }

    // Each point along it writes elements of its own.
    bool may_be_parted(const PhaseGroup& group, AxisId axis) const {
        return std::ranges::all_of(group.equations(), [&](EquationIndex index) {
            const KernelEquation& e = equation(index);
            return !e.update || std::ranges::any_of(e.left, [&](Expr c) { return plain_axis(c) == axis; });
        });
    }

    // The outermost one that divides evenly; vectors are cut last.
    AxisId axis_to_part(const PhaseGroup& group) const {
        AxisId best = no_id;
        double least = 1;
        for (AxisId axis : group.axes) {
            if (!may_be_parted(group, axis)) continue;
            const double found = share(group, axis);
            const double of_even = found * static_cast<double>(plan_.parts);
            if (axis != group.lanes && of_even < choice_numbers::even_parts) return axis;
            if (found >= least) continue;
            least = found;
            best = axis;
        }
        return best;
    }

    // Phases whose parts save less stay whole.
    void cut(double least) {
        for (size_t g = 0; g < groups_.size(); g++) {
            PhaseGroup& group = groups_[g];
            group.parted = axis_to_part(group);
            if (group.parted >= 0 && seconds_[g] * (1 - share(group, group.parted)) < least) group.parted = no_id;
        }
        for (PhaseGroup& group : groups_) {
            if (group.parted < 0) continue;
            int64_t together = 1;
            for (const PhaseGroup& other : groups_) {
                if (other.parted == group.parted) together = std::lcm(together, unit(other, group.parted));
            }
            group.part = ceil_divide(ceil_divide(kernel_.axis(group.parted).extent, plan_.parts), together) * together;
        }
        take_turns();
    }

    // ---- turns

    // A part of one touches nothing that another part of the other writes, and the other way round.
    bool apart(size_t a, size_t b) const {
        const AxisId axis = groups_[a].parted;
        for (const Touch& x : touches_[a]) {
            for (const Touch& y : touches_[b]) {
                if ((!x.writes && !y.writes) || !may_share(x, y)) continue;
                if (axis != groups_[b].parted || (axis >= 0 && !in_one_part(x, y, axis))) return false;
            }
        }
        return true;
    }

    bool may_share(const Touch& x, const Touch& y) const {
        return x.memory == y.memory || kernel_.tensor(x.memory).shares == y.memory;
    }

    static bool in_one_part(const Touch& x, const Touch& y, AxisId axis) {
        if (x.tensor != y.tensor) return false;
        for (size_t d = 0; d < x.coordinates.size(); d++) {
            if (plain_axis(x.coordinates[d]) == axis && plain_axis(y.coordinates[d]) == axis) return true;
        }
        return false;
    }

    // Consecutive phases share a round where they are apart.
    void take_turns() {
        plan_.turns.assign(groups_.size(), {});
        for (size_t begin = 0; begin < groups_.size();) {
            size_t end = begin, round = begin;
            int64_t turn = 0;
            for (; end < groups_.size() && groups_[end].ordered == groups_[begin].ordered; end++) {
                bool joins = true;
                for (size_t g = round; g < end; g++) joins = joins && apart(g, end);
                if (!joins) turn++, round = end;
                plan_.turns[end].turn = turn;
            }
            for (size_t g = begin; g < end; g++) plan_.turns[g].turns = turn + 1;
            begin = end;
        }
    }

    double seconds() const {
        double total = 0;
        for (size_t g = 0; g < groups_.size(); g++) {
            const PhaseGroup& group = groups_[g];
            const bool begins =
                g == 0 || group.ordered != groups_[g - 1].ordered || plan_.turns[g].turn != plan_.turns[g - 1].turn;
            const double own = seconds_[g] * (group.parted < 0 ? 1.0 : share(group, group.parted));
            total += (own + (begins ? barrier() : 0.0)) * steps_of(group);
        }
        return total;
    }

    // ---- bands

    bool cut_bands() {
        for (size_t begin = 0, end = 0; begin < groups_.size(); begin = end) {
            while (end < groups_.size() && groups_[end].ordered == groups_[begin].ordered) end++;
            if (groups_[begin].ordered < 0) continue;
            for (AxisId axis : groups_[begin].axes) {
                if (cut_bands(begin, end, axis)) break;
            }
        }
        return !plan_.bands.empty();
    }

    bool cut_bands(size_t begin, size_t end, AxisId axis) {
        std::vector<const std::vector<Touch>*> touches;
        const auto before = groups_;
        for (size_t g = begin; g < end; g++) {
            if (!schedules::contains(groups_[g].axes, axis) || groups_[g].update || !groups_[g].packed.empty())
                return false;
            touches.push_back(&touches_[g]);
        }
        int64_t unit = 1;
        for (size_t g = begin; g < end; g++) {
            groups_[g].parted = axis;
            unit = std::max(unit, this->unit(groups_[g], axis));
        }
        take_turns();
        auto bands = bands_along(kernel_, target_, axis, groups_[begin].ordered, plan_.turns[begin].turns, plan_.parts,
                                 unit, touches);
        if (bands) {
            bands->first = begin;
            bands->end = end;
            plan_.bands.push_back(*bands);
            return true;
        }
        groups_ = before;
        take_turns();
        return false;
    }

    void number_rounds() {
        Size first = 0;
        for (size_t g = 0; g < groups_.size(); g++) {
            Turn& turn = plan_.turns[g];
            turn.first = first;
            if (g + 1 < groups_.size() && groups_[g + 1].ordered == groups_[g].ordered) continue;
            const AxisId ordered = groups_[g].ordered;
            const Size steps = ordered < 0 ? Size(1) : maximum(kernel_.axis(ordered).extent, 0);
            const Bands* bands = plan_.bands_of(g);
            first += bands ? 2 * ceil_divide(steps, bands->steps) : turn.turns * steps;
        }
        plan_.rounds = first;
    }

    const Kernel& kernel_;
    const Target& target_;
    std::vector<PhaseGroup>& groups_;
    const std::vector<LocalStorage>& storage_;
    std::vector<std::vector<Touch>> touches_;  // by group, like these
    std::vector<double> seconds_;              // of one step
    RoundPlan plan_;
};

}  // namespace

const Bands* RoundPlan::bands_of(size_t group) const {
    const auto found = std::ranges::find_if(bands, [&](const Bands& b) { return b.first <= group && group < b.end; });
    return found == bands.end() ? nullptr : &*found;
}

bool may_have_rounds(const Kernel& kernel, const Target& target) {
    double tasks = 1;
    for (AxisId axis : kernel.common) tasks *= static_cast<double>(std::max<int64_t>(1, kernel.hint(axis)));
    return tasks < std::max(2, target.cores) &&
           std::ranges::any_of(kernel.equations, [](const KernelEquation& e) { return e.ordered >= 0; });
}

std::optional<RoundPlan> in_rounds(const Kernel& kernel, const Target& target, std::vector<PhaseGroup>& groups,
                                   const std::vector<LocalStorage>& storage) {
    return RoundPlanner(kernel, target, groups, storage).plan();
}

}  // namespace heddle::schedules
