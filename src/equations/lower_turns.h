// Sums of many turns as several short ones (docs/equations.md, "Sums of turns").
#pragma once

#include "equations/lower_tables.h"

namespace heddle::equations {

// Of the sums whose turns `tables` has kept; of those that are left as they are, the turns are tabulated.
void split_turns(System& system, TableMaker& tables);

}  // namespace heddle::equations
