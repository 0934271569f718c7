// Several cores inside a scan whose state all points share (docs/schedules.md, "Rounds"). No axis parts such a kernel
// into independent tasks, but each of its phases may be cut along an axis of its own: tasks are parts of phases, in
// rounds, between which all wait for all. Where a state exceeds a cache, and reads are near, the phases of several
// steps go by bands.
#pragma once

#include <optional>
#include <vector>

#include "schedules/bands.h"
#include "schedules/phases.h"
#include "target/target.h"

namespace heddle::schedules {

// When a phase runs: at step s of its stage in round first + s * turns + turn. A stage is a scan, or the phases between
// two of them, which have one step.
struct Turn {
    Size first = 0;
    int64_t turn = 0, turns = 1;
};

struct RoundPlan {
    Size rounds = 0;
    int64_t parts = 0;
    std::vector<Turn> turns;   // by group
    std::vector<Bands> bands;  // of the scans whose steps go by bands

    const Bands* bands_of(size_t group) const;
};

// If rounds take less time than one task. Sets what the groups are cut along.
std::optional<RoundPlan> in_rounds(const Kernel& kernel, const Target& target, std::vector<PhaseGroup>& groups,
                                   const std::vector<LocalStorage>& storage);

// Whether there are scans, and tasks along common axes leave cores idle.
bool may_have_rounds(const Kernel& kernel, const Target& target);

}  // namespace heddle::schedules
