// Ranges of reduced axes that data or loops around decide: what a condition asks of a reduced axis and of what does not
// depend on it, loops can begin and end with.
#pragma once

#include <vector>

#include "schedules/phases.h"

namespace heddle::schedules {

// What changes no result of the reduction.
bool is_nothing(Expr term, Reducer reducer);

// Conditions that hold together: what each asks may be asked alone. Of a && b whose b is asked where a holds, a; and b,
// if it reads nothing outside.
void conditions_of(const Kernel& kernel, Expr condition, std::vector<Expr>& found);

// The reduction's term is nothing where `reduced` is below value + offset (lower), or from there on (upper).
struct DataBound {
    AxisId reduced = no_id;
    bool upper = false;
    Expr value = nullptr;  // int64; reads what lies inside its tensors, and depends on no reduced axis
    int64_t offset = 0;
};

// Those of all of the group's reductions, along axes that are long enough for it.
std::vector<DataBound> data_bounds(const Kernel& kernel, const PhaseGroup& group);

// Conditions c < 0 of plain axes without which no reduction of the group has a term: `k < t`. Besides long reduced axes
// they ask of the step and of loops around alone.
std::vector<Expr> term_conditions(const Kernel& kernel, const PhaseGroup& group);

// What data answer for a whole tile, and not along the innermost loop: conditions without which no reduction of the
// group has a term there, or its update stores nothing. Long loops alone.
std::vector<Expr> conditions_of_data(const Kernel& kernel, const PhaseGroup& group, AxisId innermost);

}  // namespace heddle::schedules
