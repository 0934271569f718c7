// Lanes, rows, tile and order of each phase, from strides and costs (docs/schedules.md, 1). Only hint extents are looked at.
#pragma once

#include <optional>
#include <vector>

#include "schedules/phases.h"
#include "target/target.h"

namespace heddle::schedules {

enum class Movement : uint8_t { still, unit, strided, indirect };

// How accesses move; knows the order of locals as far as it is decided.
class Movements {
public:
    Movements(const Kernel& kernel, const std::vector<LocalStorage>& storage) : kernel_(kernel), storage_(storage) {}
    // Of an access of `tensor` at `coordinates` when `axis` grows by one.
    Movement of(TensorIndex tensor, const std::vector<Coordinate>& coordinates, AxisIndex axis) const;
    Movement of(ValueIndex read, AxisIndex axis) const;
    // The dimension with stride one in the text, or -1: the last one of stride one.
    int unit_dimension(TensorIndex tensor) const;
    // Whether a single dimension alone moves, by a coefficient of one.
    std::optional<int> plain_dimension(const std::vector<Coordinate>& coordinates, AxisIndex axis) const;

private:
    const Kernel& kernel_;
    const std::vector<LocalStorage>& storage_;
};

// Cycles of a tile choice, to compare choices by; vectors and rows fixed or to be chosen. (docs/schedules.md, "Tile")
struct TileChoice {
    double cycles = 0;
    int vectors = 1, rows = 1;
};
TileChoice choose_tile(const Target& target, int width, int64_t columns, int64_t rows, int64_t reduced,
                       std::optional<int> vectors, std::optional<int> maximum_rows);

// Fills the choices of all groups, decides the order of arrays, and asks for packed operands.
void choose(const Kernel& kernel, const Target& target, const Record& record, std::vector<PhaseGroup>& groups,
            std::vector<LocalStorage>& storage);

}  // namespace heddle::schedules
