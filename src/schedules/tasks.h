// How the common axes of a kernel are cut into tasks: steps, order and prefetch rates, all of them launch numbers.
#pragma once

#include <vector>

#include "schedules/phases.h"
#include "target/target.h"

namespace heddle::schedules {

struct TaskCut {
    AxisId axis = no_id;        // of fused rows: the innermost
    std::vector<AxisId> fused;  // all of them, outermost first, or empty
    Size extent = 0, count = 0, divisor = 1;
    int64_t step = 1;
    int64_t panel = 1;  // steps are multiples of it: packed operands are addressed by whole panels
};

// Of a kernel of one contraction: how the next panel's prefetch keeps step with the rows.
struct PanelVisit {
    std::vector<AxisId> rows;  // axes that a visit of one panel runs over, outermost first
    int64_t length = 1;        // rows of a visit
    bool of_task = false;      // a visit is one task's rows, not all
};

struct TaskPlan {
    std::vector<TaskCut> axes;  // in the order of the tree
    Size tasks = 1;
    PanelVisit visit;

    const TaskCut* find(AxisId axis) const;
};

TaskPlan cut_tasks(const Kernel& kernel, const Target& target, const std::vector<PhaseGroup>& groups,
                   const std::vector<LocalStorage>& storage);

}  // namespace heddle::schedules
