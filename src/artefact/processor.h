// Which processors a target's code runs on, asked when it runs.
#pragma once

#include <string>

#include "target/target.h"

namespace heddle::artefact {

// A C function of no arguments, `name`, that says whether this processor has what the target's code needs.
std::string processor_test(const Target& target, const std::string& name);

}  // namespace heddle::artefact
