// Where buffers lie: lifetimes by batches, then a stack of those that live at one time (stack.h), then addresses.
#pragma once

#include "plan/plan.h"

namespace heddle::plan {

// Sets first and last of every buffer.
void find_lifetimes(Plan& plan);

// Chooses the stack, and sets offsets of workspace and the plan's byte counts. With `keep_all` none share, and all live to
// the end.
void place_memory(Plan& plan, bool keep_all);
// Offsets and byte counts alone, for other sizes.
void place_again(Plan& plan);

}  // namespace heddle::plan
