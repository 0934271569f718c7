// Merging and dropping axes of a formed kernel, by the strides that storage gave.
#pragma once

#include "schedules/kernel.h"

namespace heddle::plan {

// Two axes become one where every access has stride_outer = extent_inner * stride_inner, in neither guard nor indirect
// read, and both occur in the same equations as the same kind of axis. `hint_strides` are those of the size class's
// representative, by tensor and dimension: they decide, so that a size of one does not merge what others cannot.
void merge_axes(schedules::Kernel& kernel, std::vector<std::vector<int64_t>>& hint_strides);

// Names axes a, b, c ... in order of first use and sorts them so; drops axes that nothing uses.
void name_axes(schedules::Kernel& kernel);

}  // namespace heddle::plan
