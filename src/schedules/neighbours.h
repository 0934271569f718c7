// What lanes read at places that wrap, or are clamped, in a border: a choice among few vectors of neighbours.
#pragma once

#include "schedules/interior.h"

namespace heddle::schedules {

// Right sides in which such reads, by coordinates that move along the axis, are selections of reads at plain sums of
// axes: `x[(j + 1) % n]` is `j + 1 < n ? x[j + 1] : x[j + 1 - n]`.
RightSides with_neighbours(const Kernel& kernel, const RightSides& sides, AxisId axis);

}  // namespace heddle::schedules
