// Programs that others have installed, run without a shell.
#pragma once

#include <string>
#include <vector>

#include "support/diagnostic.h"

namespace heddle::artefact {

// Runs it to its end. Code artefact.compiler: it is not there, or its exit status is not 0 (with what it said).
Result<void> run_tool(const std::vector<std::string>& command);

}  // namespace heddle::artefact
