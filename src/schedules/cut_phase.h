// A phase as its nests: borders, where something wraps, is clamped or guarded, and the interior, where nothing is
// (docs/schedules.md, "Borders").
#pragma once

#include "schedules/builder.h"

namespace heddle::schedules {

// `step`: the variable of the ordered axis, if the group has one.
Phase build_phase(Assembly& assembly, const PhaseGroup& group, VariableId step = no_id);

}  // namespace heddle::schedules
