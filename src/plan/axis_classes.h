// Which axes of a kernel's equations are one axis of the kernel: where a reader uses a tensor of the kernel at an axis of
// its own, that axis and the writer's run together.
#pragma once

#include <map>
#include <vector>

#include "equations/system.h"

namespace heddle::plan {

// An axis of one equation. Axes are kept apart by equation even if two equations share an AxisId.
struct EquationAxis {
    int32_t equation = -1;
    equations::AxisId axis = -1;
    auto operator<=>(const EquationAxis&) const = default;
};

// One digit of a left-hand coordinate: `axis` stands at `radix`; sorted with the greatest radix first.
struct Digit {
    equations::AxisId axis = -1;
    int64_t radix = 1;
};

// The digits of a mixed-radix left coordinate, and its offset.
std::vector<Digit> digits(equations::Expr left, int64_t* offset);

// The reader's coordinate at each digit of the writer's left coordinate.
std::vector<std::pair<equations::AxisId, equations::Expr>> match(equations::Arena& arena, equations::Expr left,
                                                                 equations::Expr coordinate);

// The class of each axis of the given equations, numbered from 0 by first use (axes of an equation first, then its reduced
// ones). No class holds two axes of one equation: a union that would make it so is refused.
std::map<EquationAxis, int32_t> axis_classes(const equations::System& system, const std::vector<int32_t>& equations);

}  // namespace heddle::plan
