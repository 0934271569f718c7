// Reads of nothing ("x[c] ?? v", where v adds nothing to a reduction): which of their guards ranges of loops can take
// over.
#pragma once

#include <vector>

#include "schedules/phases.h"

namespace heddle::schedules {

// Dimension `dimension` of the guarded read `value`: offset + sum over free axes + factor * reduced, in 0..extent.
struct ClippedGuard {
    Expr value = nullptr;
    size_t dimension = 0;
    AxisId reduced = no_id;
    Size factor = 1;       // of the reduced axis, positive
    Size extent = 0;       // of the tensor's dimension
    bool on_rows = false;  // the row axis occurs, and it alone of the free ones
};

// The guards of the group's reductions that clipping the reduced axis (and cutting the rows) makes needless.
std::vector<ClippedGuard> clipped_guards(const Kernel& kernel, const PhaseGroup& group);

// Rows [first, last) of the row axis for which every tap of the window lies inside, for all guards on rows.
struct InteriorRows {
    Size first = 0, last = 0;
};
InteriorRows interior_rows(const Kernel& kernel, AxisId rows, const std::vector<ClippedGuard>& guards);

}  // namespace heddle::schedules
