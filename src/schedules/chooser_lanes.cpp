// The axis that vectors run along, and the operands that are packed for it.
#include <algorithm>

#include "schedules/chooser.h"
#include "schedules/data_ranges.h"
#include "target/choice_numbers.h"
#include "zspace/checked.h"

namespace heddle::schedules {

// A result of the phase at its own point; of another step it is read like any other tensor.
bool Chooser::is_made_here(Expr read) const {
    return std::ranges::any_of(group_.equations(), [&](EquationIndex index) {
        const KernelEquation& e = equation(index);
        return e.tensor == read->tensor() && (group_.ordered < 0 || coordinates_of(read) == e.left);
    });
}

bool Chooser::is_stored(TensorIndex tensor) const {
    auto kind = storage_[static_cast<size_t>(tensor)].kind;
    return kind != LocalStorage::Kind::in_register && kind != LocalStorage::Kind::unused;
}

void Chooser::collect() {
    auto body = group_.before;
    const auto& results = group_.reductions.empty() ? group_.after : group_.reductions;
    body.insert(body.end(), results.begin(), results.end());
    inside_ = right_sides(kernel_, group_);
    for (AxisId axis : group_.axes) inside_ = interior_along(kernel_, inside_, axis).sides;
    for (EquationIndex index : body) {
        for (const ReadAccess& read : reads_of(right(index))) {
            bool known =
                std::any_of(reads_.begin(), reads_.end(), [&](const ReadAccess& r) { return r.value == read.value; });
            if (!known && !is_made_here(read.value)) reads_.push_back(read);
        }
    }
    for (EquationIndex index : group_.after) {
        if (group_.reductions.empty()) break;
        for (const ReadAccess& read : reads_of(right(index))) {
            if (!is_made_here(read.value)) reads_behind_.push_back(read);
        }
    }
    for (EquationIndex index : group_.equations()) {
        if (!is_stored(equation(index).tensor)) continue;
        bool stream = std::find(group_.before.begin(), group_.before.end(), index) != group_.before.end();
        (stream ? stream_writes_ : writes_).push_back(index);
    }
}

// Lanes of a vector: the widest element that the phase computes with or moves, and this one at least. Coordinates do
// not count. What is done once behind all terms may take several vectors for one.
int Chooser::lane_width(int64_t widest) const {
    for (EquationIndex index : group_.equations()) {
        const KernelEquation& e = equation(index);
        const bool behind = !group_.reductions.empty() && std::ranges::find(group_.after, index) != group_.after.end();
        const int64_t share = behind ? choice_numbers::vectors_behind_reduction : 1;
        auto see = [&](DType dtype) {
            const bool as_single = is_float(dtype) && is_narrow(dtype);
            widest = std::max(widest, (as_single ? bytes(DType::float32) : bytes(dtype)) / share);
        };
        bool is_index = e.reducer && is_argument(*e.reducer);
        if (!is_index) see(kernel_.tensor(e.tensor).dtype);
        std::vector<Expr> open{right(index)};
        std::vector<bool> seen(right(index)->id + size_t{1});
        while (!open.empty()) {
            Expr at = open.back();
            open.pop_back();
            const bool coordinate = at->kind == Kind::variable || at->kind == Kind::linear || at->kind == Kind::integer;
            if (coordinate || seen[at->id]) continue;
            seen[at->id] = true;
            see(at->dtype);
            const bool of_coordinates = at->is_read() || at->kind == Kind::inside;
            if (!of_coordinates) open.insert(open.end(), at->parts().begin(), at->parts().end());
        }
    }
    return std::max(1, target_.lanes(widest));
}

// Whether loops of the phase begin or end where data at this axis say: then its points are not done together.
bool Chooser::decides_range(AxisId axis) const {
    return std::ranges::any_of(data_bounds(kernel_, group_),
                               [&](const DataBound& bound) { return depends_on(bound.value, axis); });
}

// Lanes may run along a free axis only if it moves every stored result, and along the last reduced one of an argument.
bool Chooser::is_candidate(AxisId axis) const {
    auto moves = [&](EquationIndex index) {
        const auto& left = equation(index).left;
        return std::any_of(left.begin(), left.end(), [&](Expr c) { return coefficient(c, axis) != 0; });
    };
    if (contains(group_.axes, axis)) {
        if (decides_range(axis) || axis == group_.vector_steps) return false;
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
int64_t Chooser::rows_sharing(Expr read, AxisId lanes) const {
    int64_t rows = 1;
    for (AxisId axis : group_.axes) {
        if (axis != lanes && movements_.of(read, axis) == Movement::still)
            rows *= std::min<int64_t>(hint(axis), 1 << 20);
    }
    return rows;
}

std::optional<PackedOperand> Chooser::packable(const ReadAccess& read, AxisId lanes) const {
    if (read.address || group_.reductions.empty() || contains(group_.reduced, lanes)) return {};
    const KernelTensor& tensor = kernel_.tensor(read.tensor);
    if (read.value->kind != Kind::read || tensor.role != KernelTensor::Role::input || tensor.may_alias()) return {};
    PackedOperand packed;
    packed.read = read.value;
    packed.tensor = read.tensor;
    std::vector<AxisId> used;
    for (size_t d = 0; d < read.value->parts().size(); d++) {
        Expr coordinate = read.value->parts()[d];
        if (coordinate->kind == Kind::integer) continue;  // the rest of the dimension is not copied
        AxisId axis = lone_axis(coordinate);
        if (axis < 0 || contains(used, axis)) return {};
        used.push_back(axis);
        if (axis == lanes) {
            if (!parts_of(coordinate).axes[0].second.same_as(1)) return {};
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
    if (!tensor.constant && rows_sharing(read.value, lanes) < choice_numbers::least_rows_for_packing) return {};
    return packed;
}

// What a write or a read behind the reductions counts beside a read of each term.
double Chooser::share_behind() const {
    double terms = 1;
    for (AxisId axis : group_.reduced) terms *= static_cast<double>(hint(axis));
    return std::min(choice_numbers::written_behind_reduction,
                    choice_numbers::terms_like_a_write / std::max(terms, 1.0));
}

// Of joining the lanes of a result that runs along the reduced axis.
double Chooser::fold_of_a_vector(AxisId axis, int64_t width) const {
    double vectors = std::max(1.0, static_cast<double>(ceil_divide(hint(axis), width)));
    for (AxisId other : group_.reduced) {
        if (other != axis) vectors *= std::max(1.0, static_cast<double>(hint(other)));
    }
    return choice_numbers::fold_of_one_result / vectors;
}

// A result in an array of undecided order that other phases write to outputs: how those move, when the axis that they read it
// along does, each by its share of the result's points.
double Chooser::written_on(EquationIndex index, AxisId axis, const std::function<double(Movement)>& of) const {
    const KernelEquation& made = equation(index);
    const LocalStorage& storage = storage_[static_cast<size_t>(made.tensor)];
    if (storage.kind != LocalStorage::Kind::array || !storage.order.empty()) return 0;
    const auto points = [&](const KernelEquation& e) {
        double all = 1;
        for (AxisId own : e.axes) all *= static_cast<double>(hint(own));
        return all;
    };
    double total = 0;
    for (const KernelEquation& other : kernel_.equations) {
        const bool is_output = kernel_.tensor(other.tensor).role == KernelTensor::Role::output;
        if (!is_output || other.reducer || other.update) continue;
        for (const ReadAccess& read : reads_of(other.right)) {
            if (read.tensor != made.tensor) continue;
            const std::vector<Expr> coordinates = coordinates_of(read.value);
            for (size_t d = 0; d < made.left.size() && d < coordinates.size(); d++) {
                const AxisId along = lone_axis(coordinates[d]);
                if (lone_axis(made.left[d]) != axis || along < 0) continue;
                total +=
                    of(movements_.of(other.tensor, other.left, along)) * std::min(1.0, points(other) / points(made));
            }
        }
    }
    return total;
}

double Chooser::cost(AxisId axis) const {
    bool reduces = !group_.reductions.empty(), reduced = contains(group_.reduced, axis);
    const int64_t extent = hint(axis), width = lane_width(choice_numbers::least_element);
    double total = reduced ? std::max(choice_numbers::fold_of_lanes, fold_of_a_vector(axis, width)) : 0;
    auto of = [&](Movement movement, bool packs, bool transposes) {
        if (movement == Movement::indirect) return choice_numbers::chosen_by_data;
        if (movement == Movement::still) return choice_numbers::unmoved;
        if (movement == Movement::unit || packs) return choice_numbers::neighbours;
        if (movement == Movement::interleaved) return choice_numbers::interleaved;
        return transposes ? choice_numbers::transposed : choice_numbers::scattered;
    };
    for (const ReadAccess& read : reads_) {
        bool transposes = !reduces && std::any_of(group_.axes.begin(), group_.axes.end(), [&](AxisId other) {
            return other != axis && movements_.are_neighbours(read.value, other);
        });
        const Movement movement = movements_.of(read.value, axis);
        const bool packs = packable(read, axis).has_value();
        total += of(movement, packs, transposes);
        // Laid aside in every run, for all rows that share it.
        const bool lies_across = movement != Movement::unit && movement != Movement::still;
        if (packs && lies_across && !kernel_.tensor(read.tensor).constant)
            total += choice_numbers::transposed / static_cast<double>(rows_sharing(read.value, axis));
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
        const auto plainly = [&](Movement movement) { return of(movement, false, false); };
        for (EquationIndex index : writes_)
            total += (written(index) + written_on(index, axis, plainly)) * (reduces ? share_behind() : 1);
        for (const ReadAccess& read : reads_behind_)
            total += of(movements_.of(read.value, axis), false, false) * share_behind();
    }
    return extent < width ? total * static_cast<double>(width) / static_cast<double>(extent) : total;
}

void Chooser::choose_lanes() {
    std::vector<AxisId> candidates = group_.axes;
    candidates.insert(candidates.end(), group_.reduced.begin(), group_.reduced.end());
    std::vector<std::pair<AxisId, double>> costs;
    for (AxisId axis : candidates) {
        if (is_candidate(axis)) costs.emplace_back(axis, cost(axis));
    }
    if (costs.empty()) return;
    const double least = std::ranges::min_element(costs, {}, &std::pair<AxisId, double>::second)->second;
    for (const auto& [axis, c] : costs) {
        const bool is_output = contains(group_.axes, axis);
        if (c == least ? is_output || group_.lanes < 0 : is_output && c <= choice_numbers::equal_lanes * least)
            group_.lanes = axis;
    }
    group_.lanes_reduced = contains(group_.reduced, group_.lanes);
}

// An axis of four points in every launch fills a shorter vector, without masks: matrices of 4 x 4.
void Chooser::narrow_few_lanes() {
    const Axis& lanes = kernel_.axis(group_.lanes);
    if (!lanes.named && !group_.lanes_reduced && lanes.extent == choice_numbers::few_points)
        group_.width = std::min<int>(group_.width, choice_numbers::few_points);
}

// Elements of 8 and 16 bits fill a vector where each access is of neighbours: machines gather, scatter and transpose 32
// bits. No wider than the axis.
void Chooser::widen_narrow_lanes() {
    const auto is_gathered = [](Movement movement) { return movement > Movement::interleaved; };
    for (const ReadAccess& read : reads_) {
        const bool packed = std::ranges::any_of(group_.packed, [&](const auto& p) { return p.read == read.value; });
        if (!packed && is_gathered(movements_.of(read.value, group_.lanes))) return;
    }
    for (const std::vector<EquationIndex>* written : {&stream_writes_, &writes_}) {
        for (EquationIndex index : *written) {
            const KernelEquation& e = equation(index);
            if (is_gathered(movements_.of(e.tensor, e.left, group_.lanes))) return;
        }
    }
    const int widest = lane_width(1);
    while (group_.width < widest && group_.width < hint(group_.lanes)) group_.width *= 2;
}

// Whether vectors along the axis hold neighbours of the updated tensor, all at places chosen alike.
bool Chooser::moves_as_vector(AxisId axis) const {
    const KernelEquation& e = equation(group_.after.front());
    if (depends_on(e.right->parts()[0], axis)) return false;
    if (movements_.of(e.tensor, e.left, axis) != Movement::unit) return false;
    // Lanes that are invocations must each keep to elements of their own from point to point: none waits for another.
    const auto keeps = [&](Expr c) { return !depends_on(c, axis) || lone_axis(c) == axis; };
    if (target_.has_workgroups() && !std::ranges::all_of(e.left, keeps)) return false;
    return reads_neighbours(e.right->parts()[1], axis);
}

bool Chooser::ascends_by_vectors(const KernelEquation& e) const {
    return reads_neighbours(e.right->parts()[0], e.ascending) && reads_neighbours(e.right->parts()[1], e.ascending) &&
           reads_neighbours(e.left.back(), e.ascending);
}

bool Chooser::reads_neighbours(Expr value, AxisId axis) const {
    return std::ranges::all_of(reads_of(value), [&](const ReadAccess& read) {
        const Movement movement = movements_.of(read.value, axis);
        return movement == Movement::unit || movement == Movement::still;
    });
}

// Steps as lanes are one vector: the next one begins with what this one ends with.
void Chooser::choose_vector_steps() {
    collect();
    group_.row_sizes = {1};
    group_.width = lane_width(choice_numbers::least_element);
    if (!group_.in_turn) {
        group_.lanes = group_.vector_steps;
        return;
    }
    choose_lanes();
    if (group_.lanes < 0) {
        group_.width = 1;
        return;
    }
    widen_narrow_lanes();
    choose_tile_size();
    bound_code();
    // Registers are left for more than states.
    const auto equations = group_.equations();
    const auto states = std::ranges::count_if(equations, [&](EquationIndex index) {
        return equation(index).vector_steps.part == VectorSteps::Part::running;
    });
    while (group_.vectors > 1 && 2 * states * group_.vectors > target_.vector_registers) group_.vectors /= 2;
}

// Lanes along an axis that leaves the chosen places alone; else one element at a time.
void Chooser::choose_update() {
    const KernelEquation& e = equation(group_.after.front());
    group_.width = 1;
    group_.loops = group_.reduced;
    group_.row_sizes = {1};
    for (AxisId axis : e.axes) {
        if (hint(axis) >= choice_numbers::shortest_update_vector && moves_as_vector(axis)) group_.lanes = axis;
    }
    if (group_.lanes < 0 && e.ascending >= 0 && ascends_by_vectors(e)) group_.lanes = e.ascending;
    if (group_.lanes < 0) return;
    int64_t widest = std::max<int64_t>(choice_numbers::least_element, bytes(kernel_.tensor(e.tensor).dtype));
    for (Expr value : values_of(e.right->parts()[1])) {
        if (depends_on(value, group_.lanes)) widest = std::max<int64_t>(widest, bytes(value->dtype));
    }
    group_.width = std::max(1, target_.lanes(widest));
    if (group_.lanes == e.ascending) return;
    group_.vectors = static_cast<int>(
        std::clamp<int64_t>(hint(group_.lanes) / group_.width, 1, choice_numbers::most_update_vectors));
}

}  // namespace heddle::schedules
