// Updates that move what a condition takes to the front: each goes where a running count says (a filter, a compaction,
// the places of what is not zero, a partition).
#pragma once

#include <optional>

#include "schedules/kernel.h"

namespace heddle::schedules {

// A state that each step raises by one where a condition holds, and else leaves, `p[t + 1] = p[t] + (c ? 1 : 0)`,
// counts what was taken. An update at p[i] plus what i does not move, which takes the same elements (or adds nothing
// where the condition does not hold), then goes to places one after another, each once: its equation says so
// (KernelEquation::ascending), and needs no element that was there before. So it is of `i - p[i]` and of what is not
// taken. Nothing if no update is such.
std::optional<Kernel> with_ascending_places(const Kernel& kernel);

}  // namespace heddle::schedules
