// Equations of a nest whose stores lie between one another: vectors are filled by all of them, and stored whole.
#pragma once

#include <vector>

#include "schedules/phases.h"

namespace heddle::schedules {

// Each in the order of its elements: as many equations as the innermost dimension moves when the lanes' axis does.
std::vector<std::vector<EquationIndex>> filling_stores(const Kernel& kernel, const PhaseGroup& group);

}  // namespace heddle::schedules
