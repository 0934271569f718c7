// What a reduction reads at places that are data in each of many rows (a row that is resampled by a table) is laid
// aside with the rows side by side: vectors run along the rows, and a place is theirs in common. The task transposes
// what it reads in registers, and what it makes back.
#pragma once

#include <optional>

#include "schedules/kernel.h"

namespace heddle::schedules {

// The kernel with arrays of the task in place of such reads and results. Nothing if there are none.
std::optional<Kernel> with_rows_aside(const Kernel& kernel);

}  // namespace heddle::schedules
