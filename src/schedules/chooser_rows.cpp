// Rows of the tile, its size, and several row axes in one.
#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "schedules/chooser.h"
#include "schedules/tiles.h"
#include "target/choice_numbers.h"

namespace heddle::schedules {

// Loads that moving along the axis leaves where they are; a vector load counts twice.
int Chooser::saved(AxisId axis) const {
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

// Elements of a vector that lie apart are put together once for several rows that take the same.
AxisId Chooser::rows_that_share_lanes() const {
    const auto apart = [&](const ReadAccess& read) {
        const Movement movement = movements_.of(read.value, group_.lanes);
        return movement == Movement::interleaved || movement == Movement::strided;
    };
    const auto by_vectors = [&](EquationIndex index) {
        const KernelEquation& e = equation(index);
        return movements_.of(e.tensor, e.left, group_.lanes) == Movement::unit;
    };
    if (!std::ranges::all_of(writes_, by_vectors)) return no_id;
    for (AxisId axis : group_.axes) {
        const auto shared = [&](const ReadAccess& read) {
            return apart(read) && movements_.of(read.value, axis) == Movement::still;
        };
        const bool fills_tile = hint(axis) >= choice_numbers::tile_that_shares.rows;
        if (axis != group_.lanes && fills_tile && std::ranges::any_of(reads_, shared)) return axis;
    }
    return no_id;
}

void Chooser::choose_rows() {
    if (group_.reductions.empty()) {
        for (const ReadAccess& read : reads_) {
            if (target_.has_workgroups()) break;  // lanes are no vectors that could be transposed
            if (movements_.of(read.value, group_.lanes) != Movement::strided) continue;
            for (AxisId axis : group_.axes) {
                if (axis == group_.lanes || !movements_.are_neighbours(read.value, axis)) continue;
                group_.rows = axis;
                group_.transposed = true;
            }
        }
        if (group_.rows < 0 && !group_.runs_steps()) group_.rows = rows_that_share_lanes();
        return;
    }
    int best = 0;
    int64_t best_extent = 0;
    for (AxisId axis : group_.axes) {
        if (axis == group_.lanes || decides_range(axis)) continue;
        int found = saved(axis);
        int64_t extent = std::min<int64_t>(hint(axis), target_.maximum_rows);
        if (found == 0 || found < best || (found == best && extent < best_extent)) continue;
        best = found;
        best_extent = extent;
        group_.rows = axis;
        group_.contraction = true;
    }
    if (group_.rows >= 0 || group_.lanes_reduced) return;
    for (AxisId axis : group_.axes) {
        bool overlaps =
            axis != group_.lanes && !decides_range(axis) &&
            std::any_of(reads_.begin(), reads_.end(), [&](const ReadAccess& read) {
                return std::ranges::any_of(coordinates_of(read.value), [&](Expr c) {
                    return coefficient(c, axis) != 0 && std::any_of(group_.reduced.begin(), group_.reduced.end(),
                                                                    [&](AxisId r) { return coefficient(c, r) != 0; });
                });
            });
        if (overlaps) group_.rows = axis;
    }
}

// Of an operand in a buffer whose dimensions inside the rows' are walked by one axis each; 0 of others. By the sizes of
// the class's representative: other sizes get the same tile.
int64_t Chooser::bytes_between_rows(Expr read) const {
    const KernelTensor& tensor = kernel_.tensor(read->tensor());
    const auto coordinates = coordinates_of(read);
    const auto row = movements_.plain_dimension(coordinates, group_.rows);
    if (tensor.role == KernelTensor::Role::local || !row) return 0;
    int64_t distance = bytes(tensor.dtype);
    for (size_t d = static_cast<size_t>(*row) + 1; d < coordinates.size(); d++) {
        if (coordinates[d]->axes.size() != 1 || coefficient(coordinates[d], coordinates[d]->axes[0]) != 1) return 0;
        distance *= std::min<int64_t>(hint(coordinates[d]->axes[0]), 1 << 20);
    }
    return distance;
}

// Rows that lie a multiple of a way of L1 apart are all in one set of it; one that holds fewer loses each line before
// the next of its elements is read.
int Chooser::rows_that_l1_holds() const {
    const auto ways = static_cast<int>(target_.l1_bytes / choice_numbers::l1_way_bytes);
    const bool collide = std::ranges::any_of(reads_, [&](const ReadAccess& read) {
        if (movements_.of(read.value, group_.rows) == Movement::still) return false;
        if (movements_.of(read.value, group_.lanes) != Movement::still) return false;
        const int64_t distance = bytes_between_rows(read.value);
        return distance > 0 && distance % choice_numbers::l1_way_bytes == 0;
    });
    return collide ? std::clamp(ways - choice_numbers::ways_for_others, 1, target_.maximum_rows) : target_.maximum_rows;
}

// Each of several reductions has a tile of its own.
int Chooser::rows_that_registers_hold() const {
    const auto vectors = group_.vectors * static_cast<int>(group_.reductions.size());
    return std::max(1, (target_.vector_registers - 1 - group_.vectors) / vectors);
}

void Chooser::choose_tile_size() {
    bool reduces = !group_.reductions.empty();
    auto set = [&](Tile tile) { group_.vectors = tile.vectors, group_.maximum_rows = tile.rows; };
    if (group_.transposed) {
        set({1, group_.width});
    } else if (group_.contraction && !group_.lanes_reduced && all_move_with_lanes()) {
        set(choice_numbers::depthwise_tile);
        group_.windowed = true;
    } else if (group_.contraction && !group_.lanes_reduced) {
        bool free = std::any_of(group_.packed.begin(), group_.packed.end(),
                                [&](const PackedOperand& p) { return kernel_.tensor(p.tensor).constant; });
        int64_t reduced = 1;
        for (AxisId axis : group_.reduced) reduced *= std::min<int64_t>(hint(axis), 1 << 20);
        const int64_t rows = free ? choice_numbers::rows_of_any_consumer : hint(group_.rows);
        const int most_rows = rows_that_l1_holds();
        // A weight's NV is the same for all of its readers.
        set(choose_tile(target_, group_.width,
                        {hint(group_.lanes), rows, reduced, free ? target_.maximum_rows : most_rows}));
        group_.maximum_rows = std::min({group_.maximum_rows, most_rows, rows_that_registers_hold()});
    } else if (group_.contraction) {
        set(choice_numbers::matrix_vector_tile);
    } else if (group_.lanes_reduced) {
        const bool alone = group_.reductions.size() == 1 && group_.before.empty();
        set({alone ? choice_numbers::reduction_vectors : choice_numbers::busy_reduction_vectors, 1});
    } else if (reduces && group_.rows >= 0) {
        set(choice_numbers::window_tile);
        group_.windowed = true;
    } else {
        const int vectors = reduces ? choice_numbers::reduction_vectors : vectors_of_streams();
        group_.little = is_little(reduces ? vectors : 1);
        set(group_.rows >= 0 ? choice_numbers::tile_that_shares : Tile{group_.little ? 1 : vectors, 1});
    }
    // A packed operand's panel may not follow M; nor need others be wider than the axis.
    if (group_.packed.empty() && group_.lanes >= 0) {
        int64_t wanted = (hint(group_.lanes) + group_.width - 1) / group_.width;
        if (group_.runs_steps() && !group_.lanes_reduced) wanted = std::min(wanted, vectors_of_each_core());
        group_.vectors = static_cast<int>(std::min<int64_t>(group_.vectors, std::max<int64_t>(1, wanted)));
    }
}

// What is read for several uses is loaded once, for all vectors side by side, and stays in registers from the first of
// them to the last. Two vectors still hide one another's latencies; steps in turn wait for more.
int Chooser::vectors_of_streams() const {
    if (group_.runs_steps()) return choice_numbers::stream_vectors;
    std::map<Expr, int> uses;
    for (EquationIndex index : group_.after) {
        for (Expr value : values_of(right(index))) {
            for (Expr part : value->parts()) {
                if (part->is_read() && movements_.of(part, group_.lanes) != Movement::still) uses[part]++;
            }
        }
    }
    const auto kept = std::ranges::count_if(uses, [](const auto& entry) { return entry.second > 1; });
    int vectors = choice_numbers::stream_vectors;
    while (vectors > 2 && vectors * (kept + 1) > target_.vector_registers) vectors /= 2;
    return vectors;
}

// A phase that another one leaves next to no time, of a scan's step or of what is in none, is written out once, for
// short code. Then it may be so many times slower.
bool Chooser::is_little(int slower) const {
    const auto terms = [&](const KernelEquation& e) {
        double product = 1;
        for (const auto* axes : {&e.axes, &e.reduced}) {
            for (AxisId axis : *axes) product *= static_cast<double>(hint(axis));
        }
        return product;
    };
    double own = 1;
    for (const auto* axes : {&group_.axes, &group_.reduced}) {
        for (AxisId axis : *axes) own *= static_cast<double>(hint(axis));
    }
    return std::ranges::any_of(kernel_.equations, [&](const KernelEquation& e) {
        return e.ordered == group_.ordered && terms(e) >= choice_numbers::little_beside * slower * own;
    });
}

// A scan's tasks are few, and long: its lanes are cut only as far as all cores have some.
int64_t Chooser::vectors_of_each_core() const {
    int64_t tasks = 1;
    for (AxisId axis : kernel_.common) {
        if (axis != group_.lanes) tasks *= std::min<int64_t>(hint(axis), 1 << 20);
    }
    const int64_t cores = (target_.cores + tasks - 1) / std::max<int64_t>(1, tasks);
    if (cores <= 1 || !contains(kernel_.common, group_.lanes)) return INT64_MAX;
    return hint(group_.lanes) / (group_.width * cores);
}

// A long term is not written out for many vectors and rows: it hides latencies by itself.
void Chooser::bound_code() {
    if (group_.transposed) return;
    const bool reduces = !group_.reductions.empty();
    for (const auto* equations : {&group_.before, reduces ? &group_.reductions : &group_.after}) {
        for (EquationIndex index : *equations) group_.term_size += code_size(right(index), group_.lanes);
    }
    const int64_t most = std::max<int64_t>(1, choice_numbers::tile_code / std::max<int64_t>(1, group_.term_size));
    const auto fits = [&](int beside) { return std::max<int64_t>(1, most / beside); };
    group_.maximum_rows = static_cast<int>(std::min<int64_t>(group_.maximum_rows, fits(group_.vectors)));
    // A packed operand's panels are as wide as its other readers'.
    if (!group_.packed.empty() || group_.vectors <= fits(group_.maximum_rows)) return;
    group_.vectors = static_cast<int>(std::bit_floor(static_cast<uint64_t>(fits(group_.maximum_rows))));
}

// One row index over several row axes where tiles within the innermost divide badly.
void Chooser::choose_fused_rows() {
    if (!group_.contraction || group_.lanes_reduced || group_.windowed || !single_) return;
    if (!contains(kernel_.common, group_.rows) || !group_.limits.empty()) return;
    auto at = std::find(group_.axes.begin(), group_.axes.end(), group_.rows);
    std::vector<AxisId> more;
    while (at != group_.axes.begin()) {
        AxisId axis = *--at;
        bool alike = axis != group_.lanes && contains(kernel_.common, axis) && !decides_range(axis);
        for (const ReadAccess& read : reads_) {
            bool vector = movements_.of(read.value, group_.lanes) != Movement::still;
            if (vector && movements_.of(read.value, axis) != Movement::still) alike = false;
        }
        for (const ReadAccess& read : reads_) {  // windows that are clipped want rows of one image row
            if (read.value->kind != Kind::guarded_read) continue;
            for (size_t d = 0; d + 1 < read.value->parts().size(); d++) {
                Expr c = read.value->parts()[d];
                bool moves = coefficient(c, axis) != 0 || coefficient(c, group_.rows) != 0;
                if (moves && needs_guard(kernel_, read.value, d)) alike = false;
            }
        }
        if (!alike) break;
        more.insert(more.begin(), axis);
    }
    if (more.empty()) return;
    int64_t inner = hint(group_.rows), all = inner, reduced = 1;
    for (AxisId axis : more) all *= std::min<int64_t>(hint(axis), 1 << 16);
    for (AxisId axis : group_.reduced) reduced *= std::min<int64_t>(hint(axis), 1 << 20);
    auto cycles = [&](int64_t rows) {
        const Tile tile = {group_.vectors, group_.maximum_rows};
        return cycles_of(tile, target_, group_.width, {hint(group_.lanes), rows, reduced});
    };
    double apart = cycles(inner) * static_cast<double>(all) / static_cast<double>(inner);
    if (cycles(all) >= choice_numbers::share_for_fused_rows * apart) return;
    group_.fused = more;
    group_.fused.push_back(group_.rows);
}

}  // namespace heddle::schedules
