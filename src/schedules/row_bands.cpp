#include "schedules/row_bands.h"

#include <algorithm>
#include <bit>

#include "expr/arena_interval.h"
#include "expr/remake.h"
#include "target/choice_numbers.h"
#include "zspace/checked.h"

namespace heddle::schedules {
namespace {

constexpr int64_t most_rows_kept = 32, least_band = 4;  // design
constexpr int64_t strip = 128;                          // elements of a row that a task has at least
constexpr int64_t far = int64_t{1} << 40;

Interval combined(Interval a, Interval b, bool greatest) {
    if (greatest) return {std::max(a.low, b.low), std::max(a.high, b.high)};
    return {std::min(a.low, b.low), std::min(a.high, b.high)};
}

// The coordinate less the axis, over all axes' extents; of a minimum or maximum what both operands leave.
std::optional<Interval> distance(const Kernel& kernel, const CoordinateParts& coordinate, AxisId axis, int depth = 0) {
    constexpr int deepest = 6;
    for (size_t i = 0; i < coordinate.values.size(); i++) {
        const auto& [value, factor] = coordinate.values[i];
        if (value->kind != Kind::minimum && value->kind != Kind::maximum) continue;
        if (depth == deepest) return std::nullopt;
        std::optional<Interval> both;
        for (Expr operand : value->parts()) {
            CoordinateParts one = parts_of(operand);
            one.constant = one.constant * factor + coordinate.constant;
            for (auto& [unused, times] : one.axes) times *= factor;
            for (auto& [unused, times] : one.values) times *= factor;
            for (const auto& part : coordinate.axes) one.axes.push_back(part);
            for (size_t j = 0; j < coordinate.values.size(); j++) {
                if (j != i) one.values.push_back(coordinate.values[j]);
            }
            const auto found = distance(kernel, one, axis, depth + 1);
            if (!found) return std::nullopt;
            const bool greatest = (value->kind == Kind::maximum) == (factor > 0);
            both = both ? combined(*both, *found, greatest) : *found;
        }
        return both;
    }
    std::map<AxisId, Size> factors = {{axis, -1}};
    for (const auto& [other, factor] : coordinate.axes) factors[other] += factor;
    Interval result = {coordinate.constant, coordinate.constant};
    const auto add = [&](const Size& a, const Size& b) {
        result.low = greater(-far, result.low + std::min(a, b));
        result.high = lesser(far, result.high + std::max(a, b));
    };
    for (const auto& [other, factor] : factors)
        add(0, lesser(greater(factor, -far), far) * lesser(greater(kernel.axis(other).extent - 1, 0), 1 << 20));
    for (const auto& [value, factor] : coordinate.values) {
        const Interval range = expr::interval(value);
        if (!range.known() || !range.within(-far, far) || absolute(factor) > 1) return std::nullopt;
        add(factor * range.low, factor * range.high);
    }
    return result;
}

class Bander {
public:
    Bander(const Kernel& kernel, const Target& target, const std::vector<PhaseGroup>& groups,
           const std::vector<LocalStorage>& storage)
        : kernel_(kernel),
          target_(target),
          groups_(groups),
          storage_(storage),
          rows_(groups.size(), no_id),
          first_(groups.size(), 0) {}

    std::optional<BandedKernel> banded();

private:
    // An array, by the dimension of its rows.
    struct Ring {
        size_t dimension = 0;
        size_t writer = 0;  // group
    };
    const KernelEquation& equation(EquationIndex index) const { return kernel_.equations[static_cast<size_t>(index)]; }
    bool may_go(const PhaseGroup& group) const;
    bool may_have_rows(size_t group, AxisId axis) const;
    bool has_rows(size_t group, AxisId axis);
    std::optional<Ring> ring_of(TensorIndex tensor);
    std::optional<AxisId> rows_read(Expr coordinate, const KernelEquation& e, size_t group) const;
    bool agree(TensorIndex tensor, const Ring& ring);
    bool find_rings();
    bool find_leads();
    bool pays() const;
    BandedKernel made() const;

    const Kernel& kernel_;
    const Target& target_;
    const std::vector<PhaseGroup>& groups_;
    const std::vector<LocalStorage>& storage_;
    std::vector<AxisId> rows_;    // of each group
    std::vector<int64_t> first_;  // rows that a group is ahead of the last one
    std::map<TensorIndex, Ring> rings_;
    size_t begin_ = 0;
    int64_t alive_ = 0;  // rows beside those of a band
};

bool Bander::may_go(const PhaseGroup& group) const {
    return group.ordered < 0 && group.block < 0 && group.vector_steps < 0 && !group.update && group.limits.empty() &&
           group.fused.empty() && group.packed.empty();
}

bool Bander::may_have_rows(size_t group, AxisId axis) const {
    const PhaseGroup& g = groups_[group];
    return contains(g.axes, axis) && axis != g.lanes && axis != g.rows && !contains(kernel_.common, axis);
}

// A group has one axis of rows.
bool Bander::has_rows(size_t group, AxisId axis) {
    if (!may_have_rows(group, axis) || (rows_[group] >= 0 && rows_[group] != axis)) return false;
    rows_[group] = axis;
    return true;
}

// The axis of the equation that the coordinate is near.
std::optional<AxisId> Bander::rows_read(Expr coordinate, const KernelEquation& e, size_t group) const {
    AxisId found = no_id;
    for (AxisId axis : e.axes) {
        if (!depends_on(coordinate, axis) || !may_have_rows(group, axis)) continue;
        if (found >= 0) return std::nullopt;
        found = axis;
    }
    return found < 0 ? std::nullopt : std::optional(found);
}

// All that write and read the array go along its rows.
bool Bander::agree(TensorIndex tensor, const Ring& ring) {
    for (size_t g = 0; g < groups_.size(); g++) {
        for (EquationIndex index : groups_[g].equations()) {
            const KernelEquation& e = equation(index);
            if (e.tensor == tensor && (g != ring.writer || !has_rows(g, plain_axis(e.left[ring.dimension]))))
                return false;
            for (const ReadAccess& read : reads_of(e.right)) {
                if (read.tensor != tensor) continue;
                const Expr coordinate = read.value->parts()[ring.dimension];
                const auto axis = rows_read(coordinate, e, g);
                if (read.value->kind != Kind::read || !axis || !has_rows(g, *axis)) return false;
                const auto near = distance(kernel_, parts_of(coordinate), *axis);
                if (!near || near->low < -most_rows_kept || near->high > most_rows_kept) return false;
            }
        }
    }
    return true;
}

std::optional<Bander::Ring> Bander::ring_of(TensorIndex tensor) {
    for (size_t g = 0; g < groups_.size(); g++) {
        for (EquationIndex index : groups_[g].equations()) {
            const KernelEquation& e = equation(index);
            if (e.tensor != tensor) continue;
            for (size_t d = 0; d < e.left.size(); d++) {
                const std::vector<AxisId> before = rows_;
                const Ring ring = {d, g};
                const AxisId axis = plain_axis(e.left[d]);
                if (axis >= 0 && may_have_rows(g, axis) && agree(tensor, ring)) return ring;
                rows_ = before;
            }
            return std::nullopt;
        }
    }
    return std::nullopt;
}

// Of all arrays that others than their writer read; groups before the first that has rows run before all bands.
bool Bander::find_rings() {
    for (size_t t = 0; t < kernel_.tensors.size(); t++) {
        const LocalStorage::Kind kind = storage_[t].kind;
        const bool array = kind == LocalStorage::Kind::array || kind == LocalStorage::Kind::alias ||
                           kind == LocalStorage::Kind::output;
        if (!array) continue;
        if (const auto ring = ring_of(TensorIndex(t))) rings_[TensorIndex(t)] = *ring;
    }
    if (rings_.empty()) return false;
    begin_ = static_cast<size_t>(std::ranges::find_if(rows_, [](AxisId axis) { return axis >= 0; }) - rows_.begin());
    for (size_t g = begin_; g < groups_.size(); g++) {
        if (rows_[g] < 0 || !may_go(groups_[g])) return false;
        for (EquationIndex index : groups_[g].equations()) {
            const TensorIndex tensor = equation(index).tensor;
            const LocalStorage::Kind kind = storage_[static_cast<size_t>(tensor)].kind;
            const bool waits = kind != LocalStorage::Kind::not_local && kind != LocalStorage::Kind::in_register &&
                               kind != LocalStorage::Kind::unused;
            if (waits && !rings_.contains(tensor)) return false;
        }
    }
    return true;
}

// From the last group on: how many rows each must be ahead, and for how many rows an array's elements are asked for.
bool Bander::find_leads() {
    for (size_t writer = groups_.size(); writer-- > begin_;) {
        std::vector<std::pair<size_t, Interval>> readers;
        for (size_t g = begin_; g < groups_.size(); g++) {
            for (EquationIndex index : groups_[g].equations()) {
                for (const ReadAccess& read : reads_of(equation(index).right)) {
                    const auto ring = rings_.find(read.tensor);
                    if (ring == rings_.end() || ring->second.writer != writer) continue;
                    const Expr coordinate = read.value->parts()[ring->second.dimension];
                    const Interval near = *distance(kernel_, parts_of(coordinate), rows_[g]);
                    if (g < writer || (g == writer && near != Interval::point(0))) return false;
                    if (g > writer) readers.emplace_back(g, near);
                }
            }
        }
        for (const auto& [g, near] : readers) first_[writer] = std::max<int64_t>(first_[writer], first_[g] + near.high);
        for (const auto& [g, near] : readers) alive_ = std::max<int64_t>(alive_, first_[writer] - first_[g] - near.low);
    }
    return alive_ > 0 && alive_ + least_band <= most_rows_kept;
}

// Arrays of whole strips would not stay in L1, and there are bands enough.
bool Bander::pays() const {
    int64_t kept = 0;
    for (const auto& [tensor, ring] : rings_) {
        const LocalStorage& where = storage_[static_cast<size_t>(tensor)];
        int64_t size = bytes(kernel_.tensor(tensor).dtype);
        const auto maker = std::ranges::find(kernel_.equations, tensor, &KernelEquation::tensor);
        for (size_t d = 0; d < maker->left.size(); d++) {
            const AxisId axis = plain_axis(maker->left[d]);
            const int64_t extent = axis < 0 ? 1 : std::clamp<int64_t>(kernel_.hint(axis), 1, 1 << 20);
            size = std::min(far, size * (where.of_task[d] >= 0 ? std::min(extent, strip) : extent));
        }
        kept += size;
    }
    const auto is_long = [&](size_t g) { return kernel_.hint(rows_[g]) >= 2 * most_rows_kept; };
    for (size_t g = begin_; g < groups_.size(); g++) {
        if (!is_long(g)) return false;
    }
    return kept > choice_numbers::kept_in_l1(target_);
}

BandedKernel Bander::made() const {
    const auto kept = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(alive_ + least_band)));
    BandedKernel result = {copied(kernel_), {.rows = kept - alive_, .begin = begin_}};
    RowBands& bands = result.bands;
    Arena& arena = *result.kernel.arena;
    const auto in_turn = [&](TensorIndex tensor, std::vector<Expr>& coordinates) {
        const auto ring = rings_.find(tensor);
        if (ring == rings_.end()) return;
        Expr& row = coordinates[ring->second.dimension];
        row = arena.scalar(ScalarOp::modulo, DType::int64, {row, arena.integer(kept)});
    };
    Arena::Memo memo;
    const auto leaf = [](Expr e) -> Expr { return e->kind == Kind::variable ? e : nullptr; };
    const auto make = [&](Expr e, std::vector<Expr> parts) {
        if (e->kind != Kind::read || !rings_.contains(e->tensor())) return arena.rebuild(e, std::move(parts));
        in_turn(e->tensor(), parts);
        return arena.read(e->tensor(), e->dtype, std::move(parts));
    };
    for (KernelEquation& e : result.kernel.equations) {
        in_turn(e.tensor, e.left);
        e.right = expr::remade(e.right, memo, leaf, [](Expr x) { return operands_of(x); }, make);
    }
    for (const auto& [tensor, ring] : rings_) result.kernel.tensors[tensor].dimensions[ring.dimension].extent = kept;
    const int64_t before = ceil_divide(*std::ranges::max_element(first_), bands.rows);  // until the last group begins
    for (size_t g = begin_; g < groups_.size(); g++) {
        const Size extent = maximum(kernel_.axis(rows_[g]).extent, 0);
        bands.count = maximum(bands.count, before + ceil_divide(extent - first_[g], bands.rows));
        for (EquationIndex index : groups_[g].equations())
            bands.of[index] = {rows_[g], first_[g] - before * bands.rows};
    }
    return result;
}

std::optional<BandedKernel> Bander::banded() {
    if (groups_.size() < 2 || !find_rings() || !find_leads() || !pays()) return std::nullopt;
    return made();
}

}  // namespace

std::optional<BandedKernel> in_row_bands(const Kernel& kernel, const Target& target,
                                         const std::vector<PhaseGroup>& groups,
                                         const std::vector<LocalStorage>& storage) {
    return Bander(kernel, target, groups, storage).banded();
}

bool take_bands(const RowBands& bands, std::vector<PhaseGroup>& groups) {
    for (size_t g = 0; g < groups.size(); g++) {
        PhaseGroup& group = groups[g];
        const auto members = group.equations();
        const auto rows = bands.of.find(members.front());
        for (EquationIndex index : members) {
            const auto other = bands.of.find(index);
            const bool same =
                rows == bands.of.end() ? other == rows : other != bands.of.end() && other->second == rows->second;
            if (!same) return false;
        }
        if ((rows != bands.of.end()) != (g >= bands.begin)) return false;
        if (rows == bands.of.end()) continue;
        const AxisId axis = rows->second.axis;
        if (group.lanes == axis || group.rows == axis || !group.packed.empty() || !group.fused.empty()) return false;
        group.banded = axis;
        group.first_row = rows->second.first;
    }
    return true;
}

}  // namespace heddle::schedules
