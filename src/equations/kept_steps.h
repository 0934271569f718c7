// How many steps of what a scan makes are alive at a time: only these are kept, in turn (docs/equations.md, "Scans").
#pragma once

#include <vector>

#include "equations/system.h"

namespace heddle::equations {

struct KeptSteps {
    int64_t places = 0;    // that hold a step each: step s lies in place s mod `places`; 0: all steps are kept
    size_t dimension = 0;  // of the tensor, that counts the steps
};

// For each tensor of the system. Whether a step's place is also that of the next one follows from the order of a step's
// equations (System::order), in which they must then run.
std::vector<KeptSteps> kept_steps(const System& system);

}  // namespace heddle::equations
