// heddle targets --places
#pragma once

#include "cli/commands.h"
#include "target/target.h"

namespace heddle::cli {

// The places of a target and the links between them; the exit code.
int show_places(const Target& target, const TargetsOptions& options);

}  // namespace heddle::cli
