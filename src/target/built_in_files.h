// The files of targets/, as cmake/target_data.cmake makes them part of the library.
#pragma once

#include <string_view>
#include <vector>

#include "support/json_tree.h"

namespace heddle {

struct BuiltInFile {
    std::string_view path, text;  // under targets/, with / between
};
const std::vector<BuiltInFile>& built_in_files();

// One of them, which is JSON: tests read all.
JsonValue read_built_in(const std::string& path);

}  // namespace heddle
