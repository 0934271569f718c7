// The one nest that serves every phase (docs/schedules.md, 1).
#pragma once

#include "schedules/builder.h"

namespace heddle::schedules {

Phase build_phase(Assembly& assembly, const PhaseGroup& group);

}  // namespace heddle::schedules
