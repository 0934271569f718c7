// How accesses move when an axis does.
#pragma once

#include <optional>
#include <vector>

#include "schedules/phases.h"

namespace heddle::schedules {

// interleaved: along the dimension of stride one, by a coefficient that permutes serve (is_interleaving).
enum class Movement : uint8_t { still, unit, interleaved, strided, indirect };

// How accesses move; knows the order of locals as far as it is decided.
class Movements {
public:
    Movements(const Kernel& kernel, const std::vector<LocalStorage>& storage) : kernel_(kernel), storage_(storage) {}
    // Of an access of `tensor` at `coordinates` when `axis` grows by one.
    Movement of(TensorIndex tensor, Coordinates coordinates, AxisId axis) const;
    Movement of(Expr read, AxisId axis) const;
    // Whether points along the axis are neighbours in memory, in its direction or against it.
    bool are_neighbours(Expr read, AxisId axis) const;
    // The dimension with stride one in the text, or -1: the last one of stride one.
    int unit_dimension(TensorIndex tensor) const;
    // Whether a single dimension alone moves, by a coefficient of one.
    std::optional<int> plain_dimension(Coordinates coordinates, AxisId axis) const;

private:
    const Kernel& kernel_;
    const std::vector<LocalStorage>& storage_;
};

}  // namespace heddle::schedules
