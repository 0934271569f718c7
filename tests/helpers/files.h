// Files of the repository and of tests. Tests only.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "helpers/source_folder.h"

namespace heddle {

// A relative path starts at the repository.
inline std::string file_text(const std::filesystem::path& path) {
    std::stringstream text;
    text << std::ifstream(std::filesystem::path(in_source()) / path, std::ios::binary).rdbuf();
    return text.str();
}

}  // namespace heddle
