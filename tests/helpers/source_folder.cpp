#include "helpers/source_folder.h"

namespace heddle {

std::string in_source(const std::string& name) {
    return name.empty() ? HEDDLE_SOURCE_DIR : HEDDLE_SOURCE_DIR "/" + name;
}

}  // namespace heddle
