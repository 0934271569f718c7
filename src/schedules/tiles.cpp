#include "schedules/tiles.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "target/choice_numbers.h"

namespace heddle::schedules {

double cycles_of(const Tile& tile, const Target& target, int width, const TileWork& work) {
    const double nv = tile.vectors;
    const double panels = std::ceil(static_cast<double>(work.columns) / (tile.vectors * width));
    const int64_t tiles = std::max<int64_t>(1, (work.rows + tile.rows - 1) / tile.rows), small = work.rows / tiles,
                  large = work.rows % tiles;
    const double panel_bytes = nv * target.vector_bytes;
    const double two_panels = 2 * panel_bytes * static_cast<double>(work.reduced);
    const bool spills = two_panels > choice_numbers::share_for_two_panels * static_cast<double>(target.l2_bytes);
    const double panel_cycles = panel_bytes / (spills ? target.l3_bytes_per_cycle : target.l2_bytes_per_cycle);
    double cycles = 0;
    for (auto [count, size] : {std::pair(large, small + 1), std::pair(tiles - large, small)}) {
        if (count == 0 || size == 0) continue;
        const double s = static_cast<double>(size);
        cycles +=
            static_cast<double>(count) * std::max({s * nv / target.fma_per_cycle, (s + nv) / target.loads_per_cycle,
                                                   static_cast<double>(target.fma_latency), panel_cycles});
    }
    return cycles * panels;
}

Tile choose_tile(const Target& target, int width, const TileWork& work) {
    Tile best = {1, 1};
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [vectors, at_most] : choice_numbers::tile_candidates) {
        const int rows =
            std::min({(target.vector_registers - 1 - vectors) / vectors, target.maximum_rows, work.most_rows});
        const Tile tile = {vectors, std::max(1, rows)};
        const double cycles = cycles_of(tile, target, width, work);
        if (cycles < least * at_most) best = tile, least = cycles;
    }
    return best;
}

namespace {

// Of the numbers of rows from `least` on those that tiles of `maximum` and one row less do not make up.
int64_t left_over(int maximum, int64_t least) {
    int64_t left = 0;
    for (int64_t rows = least; rows < int64_t{maximum - 1} * (maximum - 2); rows++) {
        const int64_t tiles = (rows + maximum - 1) / maximum;
        left += rows < tiles * (maximum - 1);
    }
    return left;
}

}  // namespace

std::vector<int> row_sizes(int maximum, int64_t rows, bool named) {
    std::vector<int> sizes{maximum};
    int64_t least = named ? rows / 2 : rows;
    if (left_over(maximum, least) <= (named ? 1 : 0)) {
        sizes.push_back(maximum - 1);
    } else if (named) {
        for (int size = choice_numbers::next_height(maximum); size > 1; size = choice_numbers::next_height(size))
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

int64_t single_rows(const std::vector<int>& sizes, int64_t rows) {
    int64_t single = 0;
    while (rows > 1) {
        const int64_t tiles = (rows + sizes.front() - 1) / sizes.front();
        const int64_t most = (rows + tiles - 1) / tiles;
        const int64_t size = *std::ranges::find_if(sizes, [&](int compiled) { return compiled <= most; });
        single += size == 1;
        rows -= size;
    }
    return single;
}

}  // namespace heddle::schedules
