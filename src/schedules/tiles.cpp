#include "schedules/tiles.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace heddle::schedules {

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

}  // namespace heddle::schedules
