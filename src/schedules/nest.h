// The one nest that serves every phase (docs/schedules.md, "The tree").
#pragma once

#include "schedules/builder.h"

namespace heddle::schedules {

// `step`: the variable of the ordered axis, if the group has one.
Phase build_phase(Assembly& assembly, const PhaseGroup& group, VariableId step = no_id);

}  // namespace heddle::schedules
