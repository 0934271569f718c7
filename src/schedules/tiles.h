// Register tiles by a model of cycles (docs/schedules.md, "Tile").
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "target/target.h"

namespace heddle::schedules {

// Cycles of a tile choice, to compare choices by; vectors and rows fixed or to be chosen. (docs/schedules.md, "Tile")
struct TileChoice {
    double cycles = 0;
    int vectors = 1, rows = 1;
};
TileChoice choose_tile(const Target& target, int width, int64_t columns, int64_t rows, int64_t reduced,
                       std::optional<int> vectors, std::optional<int> maximum_rows);

// The row sizes compiled: MR and MR - 1 cover every M >= (MR - 1)(MR - 2); smaller M adds those it needs. 1 covers the
// rest.
std::vector<int> row_sizes(int maximum, int64_t rows, bool named);

}  // namespace heddle::schedules
