// The interior of an axis: where coordinates that wrap, are clamped or mirrored are plain sums of axes, where guarded
// reads lie inside, and where conditions have one answer. A nest runs there without any of this; what is left of the
// axis is a border, with the right sides as they were.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "schedules/phases.h"

namespace heddle::schedules {

// Right sides of a group's equations, as a part of a nest computes them.
struct RightSides {
    std::map<EquationIndex, Expr> of;
    std::set<std::pair<uint32_t, size_t>> inside;  // dimensions of reads (by id) that nothing leaves
};

RightSides right_sides(const Kernel& kernel, const PhaseGroup& group);

// Points [first, last) of the axis, and the right sides that hold there. Of several answers, that of most points of
// this launch is taken, if most points have one: another size whose border is nearly everything has code of its own.
struct Interior {
    RightSides sides;
    Size first = 0, last = 0;
    bool decides = false;     // else the sides are as they were, everywhere
    bool conditions = false;  // a guard or a condition is decided, not addresses alone
};
Interior interior_along(const Kernel& kernel, const RightSides& sides, AxisId axis);

// A coordinate of axes that `moves`, and that a selection compares with 0, `i < n - t`, or a guard with its bounds:
// where it is below 0 changes as other axes move. None: null.
Expr moving_coordinate(const Kernel& kernel, const RightSides& sides, const std::function<bool(Expr)>& moves);
// The right sides where all of these coordinates are below 0. `folds`: selections between bools and reads outside, too.
RightSides sides_where(const Kernel& kernel, const RightSides& sides, const std::vector<Expr>& below_zero,
                       bool folds = false);

}  // namespace heddle::schedules
