// Where buffers lie: lifetimes by batches, then addresses, largest first at the lowest free place.
#pragma once

#include "plan/plan.h"

namespace heddle::plan {

// Sets first and last of every buffer, offsets of workspace and margins, and the plan's byte counts. Buffers with
// margins share only whole slots with equals in size, type and filling, so that a border once filled stays. With
// `keep_all` none share, and all live to the end.
void place_memory(Plan& plan, bool keep_all);

}  // namespace heddle::plan
