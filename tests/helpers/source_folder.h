// Where the repository is. Tests only; in a library of its own, so that no other file of the tests depends on the folder that
// it was cloned into, and caches of compiled files serve every clone.
#pragma once

#include <string>

namespace heddle {

// The path of a file or folder of the repository, "operators"; without a name that of the repository.
std::string in_source(const std::string& name = {});

}  // namespace heddle
