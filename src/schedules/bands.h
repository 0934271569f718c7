// Several steps of a scan on a band of rows while it is in the cache (docs/schedules.md, "Bands"). What a step's point
// reads lies few rows beside it. So a band of rows, without its neighbours, may go on step by step, if in each step it
// has fewer rows on both sides; the seams between bands are done after that, with more rows in each step. Two rounds do
// as many steps.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "schedules/phases.h"
#include "target/target.h"

namespace heddle::schedules {

// A tensor's elements that an equation reads or writes.
struct Touch {
    TensorIndex tensor = no_id, memory = no_id;
    std::vector<Expr> coordinates;
    bool writes = false;
};

// Of one scan's groups. Of stage m of a block (its steps' turns, counted), a band lacks m * slope rows on both sides.
struct Bands {
    size_t first = 0, end = 0;  // groups
    AxisId axis = no_id;        // whose points are rows
    int64_t slope = 0;
    Size count = 1;     // bands
    Size steps = 1;     // of a block
    int64_t turns = 1;  // of a step
};

// How far what any of the scan's groups touches lies from the row at which it is touched, rows being counted round.
// None: the axis cannot be cut into bands.
std::optional<int64_t> reach(const Kernel& kernel, AxisId axis, const std::vector<const std::vector<Touch>*>& groups);

// The bands that fit a cache, whose slope is a `unit` of rows at least; none where all that steps touch stays in it.
std::optional<Bands> bands_along(const Kernel& kernel, const Target& target, AxisId axis, AxisId ordered, int64_t turns,
                                 int64_t parts, int64_t unit, const std::vector<const std::vector<Touch>*>& groups);

}  // namespace heddle::schedules
