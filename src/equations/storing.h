// Whether a value is stored or worked out again by whoever reads it: asked for by name, against what costs say
// (docs/equations.md, "The other choice").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "equations/system.h"

namespace heddle::equations {

struct StoringChoice {
    std::string tensor;  // its name, or what stands behind the last dot of only one
    Storing storing = Storing::by_cost;
};

// One equation makes it inside of the system: there is a choice of what becomes of it.
bool has_storing_choice(const System& system, const SystemTensor& tensor);

// "h=stored", "h=inlined". Code equations.choice.
Result<StoringChoice> parse_storing_choice(std::string_view text);

// Marks tensors of a system as lowered. Code equations.choice: there is none of this name, or it is no value that one
// equation makes inside of the system.
Result<void> choose_storing(System& system, const std::vector<StoringChoice>& choices);
// Whether fusion has done what was asked for. Code equations.choice: the tensor and why not.
Result<void> check_storing(const System& system);

}  // namespace heddle::equations
