#include "schedules/choices.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "schedules/chooser.h"
#include "schedules/tiles.h"
#include "target/choice_numbers.h"

namespace heddle::schedules {

void Chooser::choose_packing() {
    if (!group_.contraction && group_.rows < 0 && group_.reductions.empty()) return;
    for (const ReadAccess& read : reads_) {
        if (movements_.of(read.value, group_.lanes) == Movement::still) continue;
        if (auto packed = packable(read, group_.lanes)) group_.packed.push_back(*packed);
    }
}

// Reduced axes by the last dimension that the scalar operand uses them in. Argument reductions keep their order.
void Chooser::choose_order() {
    for (AxisId axis : group_.reduced) {
        if (axis != group_.lanes) group_.loops.push_back(axis);
    }
    bool ordered = std::any_of(group_.reductions.begin(), group_.reductions.end(),
                               [&](EquationIndex i) { return is_argument(*equation(i).reducer); });
    if (ordered) return;
    auto is_packed = [&](Expr read) {
        return std::any_of(group_.packed.begin(), group_.packed.end(),
                           [&](const PackedOperand& p) { return p.read == read; });
    };
    auto place = [&](AxisId axis) {
        size_t best = SIZE_MAX;
        for (const ReadAccess& read : reads_) {
            if (is_packed(read.value)) continue;
            const std::vector<Expr> coordinates = coordinates_of(read.value);
            for (size_t d = 0; d < coordinates.size(); d++) {
                if (coefficient(coordinates[d], axis) != 0) best = std::min(best, coordinates.size() - d);
            }
        }
        return best;
    };
    std::stable_sort(group_.loops.begin(), group_.loops.end(), [&](AxisId a, AxisId b) { return place(a) > place(b); });
}

void Chooser::choose_prefetch() {
    // One row of its own reads each panel once; at a scan's next step it is in a cache still.
    const bool is_once = group_.rows < 0 && group_.ordered < 0;
    if (group_.packed.empty() || target_.has_workgroups() || !(group_.contraction || is_once)) return;
    const int64_t rows = group_.rows < 0 ? 1 : rows_sharing(group_.packed[0].read, group_.lanes);
    const int64_t bytes_of_step = target_.vector_bytes * group_.vectors;
    int64_t bytes_of_panel = bytes_of_step;
    for (AxisId axis : group_.reduced) bytes_of_panel *= std::min<int64_t>(hint(axis), 1 << 16);
    const int64_t panels = ceil_divide(hint(group_.lanes), int64_t{group_.vectors} * group_.width);
    const bool large = bytes_of_panel * panels > choice_numbers::kept_in_l2(target_);
    group_.prefetch_panel = group_.rows >= 0 && large && rows >= group_.vectors * group_.maximum_rows &&
                            contains(kernel_.common, group_.rows);
    if (bytes_of_panel <= choice_numbers::kept_in_l1(target_)) return;
    group_.prefetch_ahead = steps_ahead(large ? bytes_of_step : 0, rows) * group_.vectors * group_.width;
}

// Of a panel whose steps come so many bytes each from memory, once for all of these rows. Where memory takes longer for a
// step than its arithmetic, no more than it takes until memory answers: what is asked for earlier begins pages too early,
// and the machine's own prefetchers with them.
int64_t Chooser::steps_ahead(int64_t bytes_from_memory, int64_t rows) const {
    const int64_t tile = std::clamp<int64_t>(rows, 1, group_.maximum_rows), tiles = ceil_divide(rows, tile);
    const double operations = 2.0 * static_cast<double>(tile * group_.vectors * group_.width);
    const double seconds = static_cast<double>(bytes_from_memory) / target_.bandwidth_one_core / static_cast<double>(tiles);
    if (seconds <= operations / target_.operations) return choice_numbers::steps_ahead;
    const double steps = std::ceil(choice_numbers::seconds_of_memory / seconds);
    return static_cast<int64_t>(std::clamp(steps, 1.0, static_cast<double>(choice_numbers::steps_ahead)));
}

// An operand a row of which is one panel is read where it lies, if its rows are contiguous.
void Chooser::drop_single_panels() {
    int64_t panel = int64_t{group_.vectors} * group_.width;
    std::erase_if(group_.packed, [&](const PackedOperand& p) {
        const KernelTensor& tensor = kernel_.tensor(p.tensor);
        // No other dimension lies between.
        bool contiguous = p.inner.size() == 1 && p.inner[0] + 2 >= static_cast<int>(tensor.dimensions.size());
        bool one = contiguous && hint(group_.lanes) <= panel && movements_.of(p.read, group_.lanes) == Movement::unit;
        return one && !kernel_.tensor(p.tensor).constant;
    });
    for (PackedOperand& packed : group_.packed) packed.panel = panel;
}

// Inner dimensions in the order of the loops.
void Chooser::order_packed() {
    for (PackedOperand& packed : group_.packed) {
        auto position = [&](int dimension) {
            AxisId axis = lone_axis(packed.read->parts()[static_cast<size_t>(dimension)]);
            return std::find(group_.loops.begin(), group_.loops.end(), axis) - group_.loops.begin();
        };
        std::sort(packed.inner.begin(), packed.inner.end(), [&](int a, int b) { return position(a) < position(b); });
    }
}

void Chooser::choose_row_sizes() {
    if (group_.rows < 0) return;
    int64_t rows = hint(group_.rows);
    bool named = kernel_.axis(group_.rows).named;
    for (size_t i = 0; i + 1 < group_.fused.size(); i++) {
        rows *= hint(group_.fused[i]);
        named = named || kernel_.axis(group_.fused[i]).named;
    }
    group_.row_sizes = group_.transposed ? std::vector<int>{group_.width} : row_sizes(group_.maximum_rows, rows, named);
    group_.maximum_rows = group_.row_sizes.front();
}

void Chooser::choose() {
    if (group_.update) return choose_update();
    if (group_.vector_steps >= 0) return choose_vector_steps();
    collect();
    group_.width = lane_width(choice_numbers::least_element);
    choose_lanes();
    if (group_.lanes < 0) {
        group_.width = 1;
        group_.loops = group_.reduced;
        group_.row_sizes = {1};
        return;
    }
    if (!target_.has_workgroups()) narrow_few_lanes();
    choose_rows();
    choose_packing();
    if (!group_.transposed) widen_narrow_lanes();
    choose_tile_size();
    bound_code();
    drop_single_panels();
    choose_fused_rows();
    choose_order();
    order_packed();
    choose_prefetch();
    choose_row_sizes();
    double written = 0;
    for (EquationIndex index : writes_)
        written += static_cast<double>(bytes(kernel_.tensor(equation(index).tensor).dtype));
    for (AxisId axis : group_.axes) written *= static_cast<double>(hint(axis));
    group_.non_temporal = single_ && !target_.has_workgroups() && group_.reductions.empty() && written > static_cast<double>(target_.l3_bytes);
}

namespace {

double work(const Kernel& kernel, const PhaseGroup& group) {
    const auto operations = [&](const std::vector<EquationIndex>& equations) {
        int64_t total = 0;
        for (EquationIndex index : equations) {
            const KernelEquation& e = kernel.equations[static_cast<size_t>(index)];
            total += 1 + code_size(e.right, e.axes.empty() ? no_id : e.axes.back());
        }
        return static_cast<double>(total);
    };
    double total = operations(group.before) + operations(group.reductions);
    for (AxisId axis : group.reduced) total *= static_cast<double>(std::max<int64_t>(1, kernel.hint(axis)));
    total += operations(group.after);
    for (AxisId axis : group.axes) total *= static_cast<double>(std::max<int64_t>(1, kernel.hint(axis)));
    // What is transposed for the steps of a block lies as the steps want it.
    if (group.block >= 0 && group.in_turn) total *= 2;
    if (group.block >= 0 && group.ordered >= 0) total *= 2 * static_cast<double>(kernel.hint(group.ordered));
    return total;
}

// Fixes the order of every array that the phase touches and nobody has decided: the dimension of its lanes last.
void order_arrays(const Kernel& kernel, const PhaseGroup& group, std::vector<LocalStorage>& storage) {
    Movements movements(kernel, storage);
    auto decide = [&](TensorIndex tensor, Coordinates coordinates) {
        LocalStorage& local = storage[static_cast<size_t>(tensor)];
        if (kernel.tensor(tensor).role != KernelTensor::Role::local || !local.order.empty() || coordinates.empty())
            return;
        local.order.resize(coordinates.size());
        std::iota(local.order.begin(), local.order.end(), 0);
        auto last = group.lanes < 0 ? std::nullopt : movements.plain_dimension(coordinates, group.lanes);
        if (last) std::rotate(local.order.begin() + *last, local.order.begin() + *last + 1, local.order.end());
    };
    for (EquationIndex index : group.equations()) {
        const KernelEquation& e = kernel.equations[static_cast<size_t>(index)];
        for (const ReadAccess& read : reads_of(e.right)) decide(read.tensor, coordinates_of(read.value));
        decide(e.tensor, e.left);
    }
}

// Arrays that share memory share their order.
void order_aliases(std::vector<LocalStorage>& storage) {
    for (LocalStorage& local : storage) {
        if (local.kind != LocalStorage::Kind::alias) continue;
        LocalStorage& target = storage[static_cast<size_t>(local.target)];
        if (target.order.empty()) target.order = local.order;
        local.order = target.order;
    }
}

}  // namespace

void choose(const Kernel& kernel, const Target& target, std::vector<PhaseGroup>& groups,
            std::vector<LocalStorage>& storage) {
    std::vector<size_t> costly(groups.size());
    std::iota(costly.begin(), costly.end(), size_t{0});
    std::stable_sort(costly.begin(), costly.end(),
                     [&](size_t a, size_t b) { return work(kernel, groups[a]) > work(kernel, groups[b]); });
    for (size_t index : costly) {
        Chooser(kernel, target, groups[index], storage, groups.size() == 1).choose();
        order_arrays(kernel, groups[index], storage);
        order_aliases(storage);
    }
}

}  // namespace heddle::schedules
