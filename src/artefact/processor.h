// Which processors a target's code runs on, asked when it runs.
#pragma once

#include <optional>
#include <string>

#include "target/target.h"

namespace heddle::artefact {

// A C function of no arguments, `name`, that says whether this processor has what the target's code needs; without a
// target it always has.
std::string processor_test(const std::optional<Target>& target, const std::string& name);

}  // namespace heddle::artefact
