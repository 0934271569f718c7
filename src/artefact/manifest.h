// What an exported program is, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

#include "artefact/artefact.h"

namespace heddle::artefact {

// `files`: those that were written, but the manifest. The same program gives the same text.
nlohmann::ordered_json manifest_of(const Program& program, const ArtefactOptions& options,
                                   const std::vector<WrittenFile>& files, const std::string& digest);
std::string manifest_text(const nlohmann::ordered_json& manifest);

}  // namespace heddle::artefact
