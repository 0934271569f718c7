// Where a state that is updated in its place stays as it is: nothing need be done there. What an update asks of axes
// bounds its loops, and what it asks of the step alone decides whether its phase runs.
#pragma once

#include <vector>

#include "schedules/phases.h"

namespace heddle::schedules {

// Nothing that the group stores changes unless the condition has this answer.
struct Change {
    Expr condition = nullptr;
    bool holds = false;
};

struct Changes {
    std::vector<Change> of_step;  // that no axis of the group decides: asked once, before its nests
    std::vector<Expr> of_axes;    // coordinates of plain axes, which are below 0 where anything changes
};

// The expression where the condition has this answer.
Expr where_answered(Arena& arena, Expr e, Expr condition, bool holds);

// None where the group makes something that is no state in its place. Of an update, what its condition asks of no axis.
Changes changes(const Kernel& kernel, const PhaseGroup& group, const std::vector<LocalStorage>& storage);

}  // namespace heddle::schedules
