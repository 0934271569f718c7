// Lanes, rows, tile and order of each phase, from strides and costs (docs/schedules.md, "Four choices"). Only hint
// extents are looked at.
#pragma once

#include <vector>

#include "schedules/phases.h"
#include "target/target.h"

namespace heddle::schedules {

// Fills the choices of all groups, decides the order of arrays, and asks for packed operands.
void choose(const Kernel& kernel, const Target& target, std::vector<PhaseGroup>& groups,
            std::vector<LocalStorage>& storage);

}  // namespace heddle::schedules
