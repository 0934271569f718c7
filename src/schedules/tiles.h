// Register tiles by a model of cycles (docs/schedules.md, "Four choices").
#pragma once

#include <cstdint>
#include <vector>

#include "target/choice_numbers.h"

namespace heddle::schedules {

using choice_numbers::Tile;

// What tiles are laid over: a sum of `reduced` terms for each of rows by columns. A tile has at most so many rows.
struct TileWork {
    int64_t columns = 1, rows = 1, reduced = 1;
    int most_rows = 1 << 10;
};
// To compare tiles by: the longest of arithmetic, loads, latency and what the panel takes to come from L2, or from L3
// where L2 cannot hold it; for all tiles of balanced rows.
double cycles_of(const Tile& tile, const Target& target, int width, const TileWork& work);
Tile choose_tile(const Target& target, int width, const TileWork& work);

// The row sizes compiled: MR and MR - 1 cover every M >= (MR - 1)(MR - 2); smaller M adds those it needs, unless only one of
// its class needs any (19, of those from 16 on, beside 6 and 5). 1 covers the rest.
std::vector<int> row_sizes(int maximum, int64_t rows, bool named);
// Of balanced tiles of these sizes, those of a single row where more are left.
int64_t single_rows(const std::vector<int>& sizes, int64_t rows);

}  // namespace heddle::schedules
