// The C compiler that links what is exported.
#pragma once

#include <string>
#include <vector>

#include "support/diagnostic.h"

namespace heddle::artefact {

// Runs it, the first word, to make `made`. Code artefact.compiler: it is not there, or refuses (with its words).
Result<void> run_c_compiler(const std::vector<std::string>& command, const std::string& made);

}  // namespace heddle::artefact
