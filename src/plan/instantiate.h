// A plan for other sizes than those that it was made for, as a plan: for people, tests and programs that are written out. Runs
// take numbers alone (numbers.h).
#pragma once

#include <map>
#include <string>

#include "plan/plan.h"

namespace heddle::plan {

// Gives all sizes of the plan, which was made without `keep_all`, the numbers that they have for these names, for which
// its facts hold, and places its memory. False, and nothing is changed, where one is beyond 64 bits.
bool instantiate(Plan& plan, const std::map<std::string, int64_t>& names);

}  // namespace heddle::plan
