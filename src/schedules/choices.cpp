#include "schedules/choices.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace heddle::schedules {

Movement Movements::of(TensorIndex tensor, const std::vector<Coordinate>& coordinates, AxisIndex axis) const {
    int moving = 0, unit = unit_dimension(tensor);
    bool by_one = false;
    for (size_t d = 0; d < coordinates.size(); d++) {
        for (const auto& [part, factor] : coordinates[d].values) {
            if (factor != 0 && depends_on(kernel_, part, axis)) return Movement::indirect;
        }
        int64_t factor = coefficient(coordinates[d], axis);
        if (factor == 0) continue;
        moving++;
        by_one = factor == 1 && static_cast<int>(d) == unit;
    }
    if (moving == 0) return Movement::still;
    const LocalStorage& storage = storage_[static_cast<size_t>(tensor)];
    bool open = kernel_.tensor(tensor).role == KernelTensor::Role::local && storage.order.empty() &&
                storage.kind != LocalStorage::Kind::output;
    if (open && plain_dimension(coordinates, axis)) return Movement::unit;
    return moving == 1 && by_one ? Movement::unit : Movement::strided;
}

Movement Movements::of(ValueIndex read, AxisIndex axis) const {
    const Value& value = kernel_.value(read);
    const LocalStorage& storage = storage_[static_cast<size_t>(value.tensor)];
    if (storage.kind == LocalStorage::Kind::output) {
        const auto& equation = kernel_.equations[static_cast<size_t>(storage.target_equation)];
        return of(storage.target, equation.left, axis);
    }
    return of(value.tensor, value.coordinates, axis);
}

int Movements::unit_dimension(TensorIndex tensor) const {
    const KernelTensor& t = kernel_.tensor(tensor);
    if (t.role == KernelTensor::Role::local) {
        const LocalStorage& storage = storage_[static_cast<size_t>(tensor)];
        return storage.order.empty() ? static_cast<int>(t.dimensions.size()) - 1 : storage.order.back();
    }
    // Where an extent of one makes further strides one, the place decides: it is the same for every size.
    for (size_t d = t.dimensions.size(); d-- > 0;) {
        if (t.dimensions[d].stride == 1) return static_cast<int>(d);
    }
    return -1;
}

std::optional<int> Movements::plain_dimension(const std::vector<Coordinate>& coordinates, AxisIndex axis) const {
    std::optional<int> found;
    for (size_t d = 0; d < coordinates.size(); d++) {
        int64_t factor = coefficient(coordinates[d], axis);
        if (factor == 0) continue;
        if (found || factor != 1) return std::nullopt;
        found = static_cast<int>(d);
    }
    return found;
}

TileChoice choose_tile(const Target& target, int width, int64_t columns, int64_t rows, int64_t reduced,
                       std::optional<int> vectors, std::optional<int> maximum_rows) {
    std::optional<TileChoice> best;
    for (int nv : vectors ? std::vector<int>{*vectors} : std::vector<int>{4, 3, 2, 1, 5}) {
        int mr = maximum_rows.value_or(std::min((target.vector_registers - 1 - nv) / nv, target.maximum_rows));
        mr = std::max(1, mr);
        double panels = std::ceil(static_cast<double>(columns) / (nv * width));
        int64_t tiles = std::max<int64_t>(1, (rows + mr - 1) / mr), small = rows / tiles, large = rows % tiles;
        double cycles = 0, panel_bytes = static_cast<double>(nv) * target.vector_bytes;
        for (auto [count, size] : {std::pair(large, small + 1), std::pair(tiles - large, small)}) {
            if (count == 0 || size == 0) continue;
            double s = static_cast<double>(size);
            cycles += static_cast<double>(count) *
                      std::max({s * nv / target.fma_per_cycle, (s + nv) / target.loads_per_cycle,
                                static_cast<double>(target.fma_latency), panel_bytes / target.l2_bytes_per_cycle});
        }
        bool spills = 2 * panel_bytes * static_cast<double>(reduced) > 0.65 * static_cast<double>(target.l2_bytes);
        TileChoice choice{cycles * panels * (spills ? 1.2 : 1), nv, mr};
        if (!best || choice.cycles < best->cycles * (nv == 5 ? 0.9 : 0.95)) best = choice;
    }
    return *best;
}

namespace {

class Chooser {
public:
    Chooser(const Kernel& kernel, const Target& target, const PhaseRecord& record, PhaseGroup& group,
            const std::vector<LocalStorage>& storage, bool single)
        : kernel_(kernel),
          target_(target),
          record_(record),
          group_(group),
          storage_(storage),
          single_(single),
          movements_(kernel, storage) {}

    void choose();

private:
    int64_t hint(AxisIndex axis) const { return std::max<int64_t>(1, kernel_.axis(axis).hint); }
    const KernelEquation& equation(EquationIndex i) const { return kernel_.equations[static_cast<size_t>(i)]; }
    bool is_member(TensorIndex tensor) const;
    bool is_stored(TensorIndex tensor) const;
    void collect();
    int lane_width() const;
    bool is_candidate(AxisIndex axis) const;
    double cost(AxisIndex axis) const;
    std::optional<PackedOperand> packable(const ReadAccess& read, AxisIndex lanes) const;
    int64_t rows_sharing(ValueIndex read, AxisIndex lanes) const;
    int saved(AxisIndex axis) const;
    bool all_move_with_lanes() const;
    void choose_update();
    bool moves_as_vector(AxisIndex axis) const;
    void choose_lanes();
    void choose_rows();
    void choose_row_tile();
    void choose_tile_size();
    void choose_fused_rows();
    void choose_packing();
    void choose_order();
    void choose_prefetch();
    std::optional<AxisIndex> axis_named(const std::string& name) const;

    const Kernel& kernel_;
    const Target& target_;
    const PhaseRecord& record_;
    PhaseGroup& group_;
    const std::vector<LocalStorage>& storage_;
    bool single_;
    Movements movements_;
    std::vector<ReadAccess> reads_;             // of the loop's body
    std::vector<EquationIndex> writes_;         // stored results
    std::vector<EquationIndex> stream_writes_;  // stored in the loop's body
};

bool Chooser::is_member(TensorIndex tensor) const {
    for (EquationIndex index : group_.equations()) {
        if (equation(index).tensor == tensor) return true;
    }
    return false;
}

bool Chooser::is_stored(TensorIndex tensor) const {
    auto kind = storage_[static_cast<size_t>(tensor)].kind;
    return kind != LocalStorage::Kind::in_register && kind != LocalStorage::Kind::unused;
}

void Chooser::collect() {
    auto body = group_.before;
    const auto& results = group_.reductions.empty() ? group_.after : group_.reductions;
    body.insert(body.end(), results.begin(), results.end());
    for (EquationIndex index : body) {
        for (const ReadAccess& read : reads_of(kernel_, equation(index).right)) {
            bool known =
                std::any_of(reads_.begin(), reads_.end(), [&](const ReadAccess& r) { return r.value == read.value; });
            if (!known && !is_member(read.tensor)) reads_.push_back(read);
        }
    }
    for (EquationIndex index : group_.equations()) {
        if (!is_stored(equation(index).tensor)) continue;
        bool stream = std::find(group_.before.begin(), group_.before.end(), index) != group_.before.end();
        (stream ? stream_writes_ : writes_).push_back(index);
    }
}

// Lanes of a vector: the widest element that the phase computes with or moves. Coordinates do not count.
int Chooser::lane_width() const {
    int64_t widest = 4;
    auto see = [&](DType dtype) { widest = std::max(widest, bytes(dtype)); };
    for (EquationIndex index : group_.equations()) {
        const KernelEquation& e = equation(index);
        bool is_index = e.reducer && is_argument(*e.reducer);
        if (!is_index) see(kernel_.tensor(e.tensor).dtype);
        std::vector<ValueIndex> open{e.right};
        std::vector<bool> seen(kernel_.values.size());
        while (!open.empty()) {
            ValueIndex at = open.back();
            open.pop_back();
            if (seen[static_cast<size_t>(at)]) continue;
            seen[static_cast<size_t>(at)] = true;
            const Value& value = kernel_.value(at);
            bool coordinate = value.kind == Value::Kind::coordinate || value.kind == Value::Kind::integer;
            if (!coordinate) see(value.dtype);
            open.insert(open.end(), value.operands.begin(), value.operands.end());
        }
    }
    return std::max(1, target_.lanes(widest));
}

// Lanes may run along a free axis only if it moves every stored result, and along the last reduced one of an argument.
bool Chooser::is_candidate(AxisIndex axis) const {
    auto moves = [&](EquationIndex index) {
        const auto& left = equation(index).left;
        return std::any_of(left.begin(), left.end(), [&](const Coordinate& c) { return coefficient(c, axis) != 0; });
    };
    if (contains(group_.axes, axis)) {
        return std::all_of(writes_.begin(), writes_.end(), moves) &&
               std::all_of(stream_writes_.begin(), stream_writes_.end(), moves);
    }
    for (EquationIndex index : group_.reductions) {
        const KernelEquation& e = equation(index);
        if (is_argument(*e.reducer) && e.reduced.back() != axis) return false;
    }
    return std::all_of(stream_writes_.begin(), stream_writes_.end(), moves);
}

// The product of the free axes that leave the operand where it is.
int64_t Chooser::rows_sharing(ValueIndex read, AxisIndex lanes) const {
    int64_t rows = 1;
    for (AxisIndex axis : group_.axes) {
        if (axis != lanes && movements_.of(read, axis) == Movement::still)
            rows *= std::min<int64_t>(hint(axis), 1 << 20);
    }
    return rows;
}

std::optional<PackedOperand> Chooser::packable(const ReadAccess& read, AxisIndex lanes) const {
    if (record_.pack == false || read.address || group_.reductions.empty() || contains(group_.reduced, lanes))
        return {};
    const Value& value = kernel_.value(read.value);
    const KernelTensor& tensor = kernel_.tensor(read.tensor);
    if (value.kind != Value::Kind::read || tensor.role != KernelTensor::Role::input || tensor.may_alias) return {};
    PackedOperand packed;
    packed.read = read.value;
    packed.tensor = read.tensor;
    std::vector<AxisIndex> used;
    for (size_t d = 0; d < value.coordinates.size(); d++) {
        AxisIndex axis = plain_axis(value.coordinates[d]);
        if (axis < 0 || contains(used, axis)) return {};
        used.push_back(axis);
        if (axis == lanes) {
            packed.lane_dimension = static_cast<int>(d);
        } else {
            (contains(group_.reduced, axis) ? packed.inner : packed.outer).push_back(static_cast<int>(d));
        }
    }
    if (packed.lane_dimension < 0 || packed.inner.empty()) return {};
    bool scalar_operand = std::any_of(reads_.begin(), reads_.end(), [&](const ReadAccess& other) {
        return other.value != read.value && movements_.of(other.value, lanes) == Movement::still;
    });
    if (!scalar_operand) return {};
    if (!tensor.constant && rows_sharing(read.value, lanes) < 16) return {};
    for (EquationIndex index : group_.reductions) {
        if (contains_read(kernel_, equation(index).right)) packed.equation = index;
    }
    return packed;
}

double Chooser::cost(AxisIndex axis) const {
    bool reduces = !group_.reductions.empty(), reduced = contains(group_.reduced, axis);
    double total = reduced ? 0.3 : 0;
    auto of = [&](Movement movement, bool packs, bool transposes) {
        if (movement == Movement::indirect) return 20.0;
        if (movement == Movement::still) return 0.6;
        if (movement == Movement::unit || packs) return 1.0;
        return transposes ? 3.0 : 16.0;
    };
    for (const ReadAccess& read : reads_) {
        bool transposes = !reduces && std::any_of(group_.axes.begin(), group_.axes.end(), [&](AxisIndex other) {
            return other != axis && movements_.of(read.value, other) == Movement::unit;
        });
        total += of(movements_.of(read.value, axis), packable(read, axis).has_value(), transposes);
    }
    auto written = [&](EquationIndex index) {
        const KernelEquation& e = equation(index);
        const LocalStorage& storage = storage_[static_cast<size_t>(e.tensor)];
        if (storage.kind != LocalStorage::Kind::output) return of(movements_.of(e.tensor, e.left, axis), false, false);
        const auto& left = equation(storage.target_equation).left;
        return of(movements_.of(storage.target, left, axis), false, false);
    };
    for (EquationIndex index : stream_writes_) total += written(index);
    if (!reduced) {
        for (EquationIndex index : writes_) total += written(index) * (reduces ? 0.1 : 1.0);
    }
    int64_t extent = hint(axis), width = lane_width();
    return extent < width ? total * static_cast<double>(width) / static_cast<double>(extent) : total;
}

std::optional<AxisIndex> Chooser::axis_named(const std::string& name) const {
    for (AxisIndex axis : group_.axes) {
        if (kernel_.axis(axis).name == name) return axis;
    }
    for (AxisIndex axis : group_.reduced) {
        if (kernel_.axis(axis).name == name) return axis;
    }
    return std::nullopt;
}

void Chooser::choose_lanes() {
    std::vector<AxisIndex> candidates = group_.axes;
    candidates.insert(candidates.end(), group_.reduced.begin(), group_.reduced.end());
    std::optional<double> best;
    for (AxisIndex axis : candidates) {
        if (!is_candidate(axis)) continue;
        double c = cost(axis);
        bool later_output = contains(group_.axes, axis) && c == best.value_or(c);
        if (!best || c < *best || later_output) {
            best = c;
            group_.lanes = axis;
        }
    }
    if (record_.lanes) {
        auto wanted = axis_named(*record_.lanes);
        if (wanted && is_candidate(*wanted)) group_.lanes = *wanted;
    }
    group_.lanes_reduced = contains(group_.reduced, group_.lanes);
}

// Loads that moving along the axis leaves where they are; a vector load counts twice.
int Chooser::saved(AxisIndex axis) const {
    int total = 0;
    for (const ReadAccess& read : reads_) {
        if (movements_.of(read.value, axis) != Movement::still) continue;
        total += movements_.of(read.value, group_.lanes) == Movement::still ? 1 : 2;
    }
    return total;
}

bool Chooser::all_move_with_lanes() const {
    return std::none_of(reads_.begin(), reads_.end(), [&](const ReadAccess& read) {
        return movements_.of(read.value, group_.lanes) == Movement::still;
    });
}

void Chooser::choose_rows() {
    if (group_.reductions.empty()) {
        for (const ReadAccess& read : reads_) {
            if (movements_.of(read.value, group_.lanes) != Movement::strided) continue;
            for (AxisIndex axis : group_.axes) {
                if (axis == group_.lanes || movements_.of(read.value, axis) != Movement::unit) continue;
                group_.rows = axis;
                group_.transposed = true;
            }
        }
        return;
    }
    int best = 0;
    int64_t best_extent = 0;
    for (AxisIndex axis : group_.axes) {
        if (axis == group_.lanes) continue;
        int found = saved(axis);
        int64_t extent = std::min<int64_t>(hint(axis), target_.maximum_rows);
        if (found == 0 || found < best || (found == best && extent < best_extent)) continue;
        best = found;
        best_extent = extent;
        group_.rows = axis;
        group_.contraction = true;
    }
    if (group_.rows >= 0 || group_.lanes_reduced) return;
    for (AxisIndex axis : group_.axes) {
        bool overlaps = axis != group_.lanes && std::any_of(reads_.begin(), reads_.end(), [&](const ReadAccess& read) {
                            const auto& coordinates = kernel_.value(read.value).coordinates;
                            return std::any_of(coordinates.begin(), coordinates.end(), [&](const Coordinate& c) {
                                return coefficient(c, axis) != 0 &&
                                       std::any_of(group_.reduced.begin(), group_.reduced.end(),
                                                   [&](AxisIndex r) { return coefficient(c, r) != 0; });
                            });
                        });
        if (overlaps) group_.rows = axis;
    }
}

void Chooser::choose_row_tile() {
    if (!record_.rows) return;
    auto wanted = axis_named(*record_.rows);
    if (record_.rows->empty()) {
        group_.rows = -1;
        group_.transposed = group_.contraction = false;
    } else if (wanted && *wanted != group_.lanes && contains(group_.axes, *wanted) && !group_.transposed) {
        group_.rows = *wanted;
        group_.contraction = saved(*wanted) > 0;
    }
}

void Chooser::choose_tile_size() {
    bool reduces = !group_.reductions.empty();
    auto set = [&](int vectors, int rows) { group_.vectors = vectors, group_.maximum_rows = rows; };
    if (group_.transposed) {
        set(1, group_.width);
    } else if (group_.contraction && !group_.lanes_reduced && all_move_with_lanes()) {
        set(2, 7);
        group_.windowed = true;
    } else if (group_.contraction && !group_.lanes_reduced) {
        bool free = std::any_of(group_.packed.begin(), group_.packed.end(),
                                [&](const PackedOperand& p) { return kernel_.tensor(p.tensor).constant; });
        int64_t reduced = 1;
        for (AxisIndex axis : group_.reduced) reduced *= std::min<int64_t>(hint(axis), 1 << 20);
        TileChoice tile = choose_tile(target_, group_.width, hint(group_.lanes), free ? 5040 : hint(group_.rows),
                                      reduced, record_.vectors, record_.maximum_rows);
        set(tile.vectors, tile.rows);
    } else if (group_.contraction) {
        set(2, 4);
    } else if (group_.lanes_reduced) {
        set(group_.reductions.size() == 1 && group_.before.empty() ? 8 : 4, 1);
    } else if (reduces && group_.rows >= 0) {
        set(2, 4);
        group_.windowed = true;
    } else {
        set(reduces ? 8 : 4, 1);
    }
    if (group_.lanes < 0) set(1, 1);
    if (record_.vectors && group_.lanes >= 0 && !group_.transposed)
        group_.vectors = std::clamp(*record_.vectors, 1, 16);
    if (record_.maximum_rows && group_.rows >= 0 && !group_.transposed) {
        group_.maximum_rows = std::clamp(*record_.maximum_rows, 1, 32);
    }
    // A packed operand's panel may not follow M; nor need others be wider than the axis.
    if (group_.packed.empty() && group_.lanes >= 0) {
        int64_t wanted = (hint(group_.lanes) + group_.width - 1) / group_.width;
        group_.vectors = static_cast<int>(std::min<int64_t>(group_.vectors, std::max<int64_t>(1, wanted)));
    }
}

void Chooser::choose_packing() {
    if (!group_.contraction && group_.rows < 0 && group_.reductions.empty()) return;
    for (const ReadAccess& read : reads_) {
        if (movements_.of(read.value, group_.lanes) == Movement::still) continue;
        if (auto packed = packable(read, group_.lanes)) group_.packed.push_back(*packed);
    }
}

// Reduced axes by the last dimension that the scalar operand uses them in. Argument reductions keep their order.
void Chooser::choose_order() {
    for (AxisIndex axis : group_.reduced) {
        if (axis != group_.lanes) group_.loops.push_back(axis);
    }
    bool ordered = std::any_of(group_.reductions.begin(), group_.reductions.end(),
                               [&](EquationIndex i) { return is_argument(*equation(i).reducer); });
    if (ordered) return;
    auto is_packed = [&](ValueIndex read) {
        return std::any_of(group_.packed.begin(), group_.packed.end(),
                           [&](const PackedOperand& p) { return p.read == read; });
    };
    auto place = [&](AxisIndex axis) {
        size_t best = SIZE_MAX;
        for (const ReadAccess& read : reads_) {
            if (is_packed(read.value)) continue;
            const Value& value = kernel_.value(read.value);
            for (size_t d = 0; d < value.coordinates.size(); d++) {
                if (coefficient(value.coordinates[d], axis) != 0) best = std::min(best, value.coordinates.size() - d);
            }
        }
        return best;
    };
    std::stable_sort(group_.loops.begin(), group_.loops.end(),
                     [&](AxisIndex a, AxisIndex b) { return place(a) > place(b); });
}

// One row index over several row axes where tiles within the innermost divide badly.
void Chooser::choose_fused_rows() {
    if (!group_.contraction || group_.lanes_reduced || group_.windowed || !single_) return;
    if (!contains(kernel_.common, group_.rows) || record_.fuse_rows == false) return;
    auto at = std::find(group_.axes.begin(), group_.axes.end(), group_.rows);
    std::vector<AxisIndex> more;
    while (at != group_.axes.begin()) {
        AxisIndex axis = *--at;
        bool alike = axis != group_.lanes && contains(kernel_.common, axis);
        for (const ReadAccess& read : reads_) {
            bool vector = movements_.of(read.value, group_.lanes) != Movement::still;
            if (vector && movements_.of(read.value, axis) != Movement::still) alike = false;
        }
        for (const ReadAccess& read : reads_) {  // windows that are clipped want rows of one image row
            const Value& value = kernel_.value(read.value);
            if (value.kind != Value::Kind::guarded_read) continue;
            for (size_t d = 0; d < value.coordinates.size(); d++) {
                const Coordinate& c = value.coordinates[d];
                bool moves = coefficient(c, axis) != 0 || coefficient(c, group_.rows) != 0;
                if (moves && needs_guard(kernel_, value, d)) alike = false;
            }
        }
        if (!alike) break;
        more.insert(more.begin(), axis);
    }
    if (more.empty()) return;
    int64_t inner = hint(group_.rows), all = inner, reduced = 1;
    for (AxisIndex axis : more) all *= std::min<int64_t>(hint(axis), 1 << 16);
    for (AxisIndex axis : group_.reduced) reduced *= std::min<int64_t>(hint(axis), 1 << 20);
    auto cycles = [&](int64_t rows) {
        return choose_tile(target_, group_.width, hint(group_.lanes), rows, reduced, group_.vectors,
                           group_.maximum_rows)
            .cycles;
    };
    double apart = cycles(inner) * static_cast<double>(all) / static_cast<double>(inner);
    if (!record_.fuse_rows.value_or(cycles(all) < 0.93 * apart)) return;
    group_.fused = more;
    group_.fused.push_back(group_.rows);
}

void Chooser::choose_prefetch() {
    if (group_.packed.empty() || group_.rows < 0 || !group_.contraction) return;
    int64_t rows = rows_sharing(group_.packed[0].read, group_.lanes),
            bytes_of_panel = target_.vector_bytes * group_.vectors;
    for (AxisIndex axis : group_.reduced) bytes_of_panel *= std::min<int64_t>(hint(axis), 1 << 16);
    int64_t panels = (hint(group_.lanes) + group_.vectors * group_.width - 1) / (group_.vectors * group_.width);
    bool large = bytes_of_panel * panels > target_.l2_bytes / 2;
    group_.prefetch_panel = record_.prefetch.value_or(rows >= group_.vectors * group_.maximum_rows && large) &&
                            contains(kernel_.common, group_.rows);
    if (bytes_of_panel > target_.l1_bytes / 2) group_.prefetch_ahead = 16LL * group_.vectors * group_.width;
}

// The row sizes compiled: MR and MR - 1 cover every M >= (MR - 1)(MR - 2); smaller M adds those it needs. 1 covers the rest.
std::vector<int> row_sizes(int maximum, int64_t rows, bool named) {
    std::vector<int> sizes{maximum};
    int64_t least = named ? rows / 2 : rows;
    if (least >= int64_t{maximum - 1} * (maximum - 2)) {
        sizes.push_back(maximum - 1);
    } else if (named) {
        for (int size = maximum - 1; size > 1; size = maximum > 7 && size < maximum - 1 ? size / 2 : size - 1)
            sizes.push_back(size);
    } else {
        int64_t tiles = std::max<int64_t>(1, (rows + maximum - 1) / maximum);
        sizes = {static_cast<int>(std::max<int64_t>(1, (rows + tiles - 1) / tiles)),
                 static_cast<int>(std::max<int64_t>(1, rows / tiles))};
    }
    sizes.push_back(1);
    std::sort(sizes.begin(), sizes.end(), std::greater<>());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    while (sizes.back() < 1) sizes.pop_back();
    return sizes;
}

// Whether vectors along the axis hold neighbours of the updated tensor, all at places chosen alike.
bool Chooser::moves_as_vector(AxisIndex axis) const {
    const KernelEquation& e = equation(group_.after.front());
    const Value& right = kernel_.value(e.right);
    const bool chosen = std::any_of(e.left.begin(), e.left.end(), [&](const Coordinate& c) {
        return std::any_of(c.values.begin(), c.values.end(),
                           [&](const auto& part) { return depends_on(kernel_, part.first, axis); });
    });
    if (chosen || depends_on(kernel_, right.operands[0], axis)) return false;
    if (movements_.of(e.tensor, e.left, axis) != Movement::unit) return false;
    const auto reads = reads_of(kernel_, right.operands[1]);
    return std::all_of(reads.begin(), reads.end(), [&](const ReadAccess& read) {
        const Movement movement = movements_.of(read.value, axis);
        return movement == Movement::unit || movement == Movement::still;
    });
}

// Lanes along an axis that leaves the chosen places alone; else one element at a time.
void Chooser::choose_update() {
    constexpr int64_t shortest = 8, most_vectors = 4;
    const KernelEquation& e = equation(group_.after.front());
    group_.width = 1;
    group_.loops = group_.reduced;
    group_.row_sizes = {1};
    for (AxisIndex axis : e.axes) {
        if (hint(axis) >= shortest && moves_as_vector(axis)) group_.lanes = axis;
    }
    if (group_.lanes < 0) return;
    int64_t widest = std::max<int64_t>(4, bytes(kernel_.tensor(e.tensor).dtype));
    visit(kernel_, kernel_.value(e.right).operands[1], [&](ValueIndex value) {
        if (depends_on(kernel_, value, group_.lanes))
            widest = std::max<int64_t>(widest, bytes(kernel_.value(value).dtype));
    });
    group_.width = std::max(1, target_.lanes(widest));
    group_.vectors = static_cast<int>(std::clamp<int64_t>(hint(group_.lanes) / group_.width, 1, most_vectors));
}

void Chooser::choose() {
    if (group_.update) return choose_update();
    collect();
    group_.width = lane_width();
    choose_lanes();
    if (group_.lanes < 0) {
        group_.width = 1;
        group_.loops = group_.reduced;
        group_.row_sizes = {1};
        return;
    }
    choose_rows();
    choose_row_tile();
    choose_packing();
    choose_tile_size();
    int64_t panel = int64_t{group_.vectors} * group_.width;
    std::erase_if(group_.packed, [&](const PackedOperand& p) {  // a row of it is one panel, and rows are contiguous
        const KernelTensor& tensor = kernel_.tensor(p.tensor);
        // No other dimension lies between.
        bool contiguous = p.inner.size() == 1 && p.inner[0] + 2 >= static_cast<int>(tensor.dimensions.size());
        bool one = contiguous && hint(group_.lanes) <= panel && movements_.of(p.read, group_.lanes) == Movement::unit;
        return one && !record_.pack.value_or(false) && !kernel_.tensor(p.tensor).constant;
    });
    for (PackedOperand& packed : group_.packed) packed.panel = panel;
    choose_fused_rows();
    choose_order();
    for (PackedOperand& packed : group_.packed) {
        const auto& coordinates = kernel_.value(packed.read).coordinates;
        auto position = [&](int dimension) {
            AxisIndex axis = plain_axis(coordinates[static_cast<size_t>(dimension)]);
            return std::find(group_.loops.begin(), group_.loops.end(), axis) - group_.loops.begin();
        };
        std::sort(packed.inner.begin(), packed.inner.end(), [&](int a, int b) { return position(a) < position(b); });
    }
    choose_prefetch();
    if (group_.rows >= 0) {
        const KernelAxis& axis = kernel_.axis(group_.rows);
        int64_t rows = hint(group_.rows);
        bool named = axis.named;
        for (size_t i = 0; i + 1 < group_.fused.size(); i++) {
            rows *= hint(group_.fused[i]);
            named = named || kernel_.axis(group_.fused[i]).named;
        }
        group_.row_sizes =
            group_.transposed ? std::vector<int>{group_.width} : row_sizes(group_.maximum_rows, rows, named);
        if (record_.row_sizes && !group_.transposed && !record_.row_sizes->empty() && record_.row_sizes->back() == 1) {
            group_.row_sizes = *record_.row_sizes;
        }
        group_.maximum_rows = group_.row_sizes.front();
    }
    group_.lanes_outside = record_.lanes_outside.value_or(true);
    double written = 0;
    for (EquationIndex index : writes_)
        written += static_cast<double>(bytes(kernel_.tensor(equation(index).tensor).dtype));
    for (AxisIndex axis : group_.axes) written *= static_cast<double>(hint(axis));
    group_.non_temporal = single_ && group_.reductions.empty() && written > static_cast<double>(target_.l3_bytes);
}

double work(const Kernel& kernel, const PhaseGroup& group) {
    double total = static_cast<double>(group.equations().size());
    for (AxisIndex axis : group.axes) total *= static_cast<double>(std::max<int64_t>(1, kernel.axis(axis).hint));
    for (AxisIndex axis : group.reduced) total *= static_cast<double>(std::max<int64_t>(1, kernel.axis(axis).hint));
    return total;
}

// Fixes the order of every array that the phase touches and nobody has decided: the dimension of its lanes last.
void order_arrays(const Kernel& kernel, const PhaseGroup& group, std::vector<LocalStorage>& storage) {
    Movements movements(kernel, storage);
    auto decide = [&](TensorIndex tensor, const std::vector<Coordinate>& coordinates) {
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
        for (const ReadAccess& read : reads_of(kernel, e.right))
            decide(read.tensor, kernel.value(read.value).coordinates);
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

void choose(const Kernel& kernel, const Target& target, const Record& record, std::vector<PhaseGroup>& groups,
            std::vector<LocalStorage>& storage) {
    std::vector<size_t> costly(groups.size());
    std::iota(costly.begin(), costly.end(), size_t{0});
    std::stable_sort(costly.begin(), costly.end(),
                     [&](size_t a, size_t b) { return work(kernel, groups[a]) > work(kernel, groups[b]); });
    static const PhaseRecord none;
    for (size_t index : costly) {
        auto found = record.phases.find(static_cast<int>(index));
        const PhaseRecord& phase = found == record.phases.end() ? none : found->second;
        Chooser(kernel, target, phase, groups[index], storage, groups.size() == 1).choose();
        if (record.non_temporal) groups[index].non_temporal = *record.non_temporal && groups[index].reductions.empty();
        order_arrays(kernel, groups[index], storage);
        order_aliases(storage);
    }
}

}  // namespace heddle::schedules
