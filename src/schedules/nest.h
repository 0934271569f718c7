// The one nest that serves every phase (docs/schedules.md, "The tree").
#pragma once

#include <optional>
#include <vector>

#include "schedules/builder.h"
#include "schedules/clipping.h"
#include "schedules/interior.h"

namespace heddle::schedules {

// The points of an axis that have its interior's right sides.
struct Cut {
    AxisId axis = no_id;
    Size first = 0, last = 0;
};

// What a nest runs over: the interiors of some axes, what the interior of another leaves, and all of the rest.
struct Part {
    std::vector<Cut> inside;
    std::optional<Cut> border;
    std::vector<Expr>
        below_zero;  // coordinates, everywhere in the part: of each, the innermost of its axes is narrowed
};

struct NestPlan {
    PhaseGroup group;  // with its choices
    Part part;
    RightSides sides;                  // that hold in this part
    std::vector<ClippedGuard> guards;  // that ranges stand for
    VariableId step = no_id;           // of the ordered axis, if the group has one
    std::vector<NestPlan> beside;      // inside the loops around the lanes: their border, and their other side
};

Block build_nest(Assembly& assembly, const NestPlan& plan);

}  // namespace heddle::schedules
