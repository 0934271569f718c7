// Merging, dropping and naming the axes of a formed kernel.
#pragma once

#include "schedules/kernel.h"

namespace heddle::plan {

// Two axes become one where every access has stride_outer = extent_inner * stride_inner, in neither guard nor indirect
// read, and both occur in the same equations as the same kind of axis. `hint_strides` are those of the size class's
// representative, by tensor and dimension: they decide, so that a size of one does not merge what others cannot.
// Then axes are named a, b, c ... in order of first use and sorted so; what nothing uses is dropped. The kernel's
// expressions are new ones, in an arena of their own.
void merge_axes(schedules::Kernel& kernel, std::vector<std::vector<int64_t>>& hint_strides);

}  // namespace heddle::plan
