// What an exported program is, as JSON.
#pragma once

#include <string>
#include <vector>

#include "artefact/artefact.h"

namespace heddle::artefact {

// `files`: those that were written, but the manifest. The same program gives the same text.
std::string manifest_text(const Program& program, const ArtefactOptions& options, const std::vector<WrittenFile>& files,
                          const std::string& digest);

}  // namespace heddle::artefact
