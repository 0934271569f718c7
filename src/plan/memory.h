// Where buffers lie: lifetimes by batches, then addresses, largest first at the lowest free place.
#pragma once

#include "plan/plan.h"

namespace heddle::plan {

// Sets first and last of every buffer.
void find_lifetimes(Plan& plan);

// Sets offsets of workspace, and the plan's byte counts. With `keep_all` none share, and all live to the end.
void place_memory(Plan& plan, bool keep_all);

}  // namespace heddle::plan
