// Which axes of a kernel's equations are one axis of the kernel: where a reader uses a tensor of the kernel at an axis
// of its own, that axis and the writer's run together. So do the kernel's common axes, and the reduced axes of two
// reductions, one after the other, of the same elements.
#pragma once

#include <map>
#include <vector>

#include "equations/fusion.h"

namespace heddle::plan {

// An axis of one equation. Axes are kept apart by equation even if two equations share an AxisId.
struct EquationAxis {
    int32_t equation = -1;
    equations::AxisId axis = no_id;
    auto operator<=>(const EquationAxis&) const = default;
};

using AxisClass = StrongId<struct AxisClassTag>;

// The class of each axis of the kernel's equations, numbered from 0 by first use (axes of an equation first, then its
// reduced ones). No class holds two axes of one equation, or the ordered axes of two scans, which run one after the
// other: a union that would make it so is refused. A scatter and the equation that its terms are added to count as one.
std::map<EquationAxis, AxisClass> axis_classes(const equations::System& system, const equations::Kernel& kernel);

}  // namespace heddle::plan
