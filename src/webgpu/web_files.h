// The page, its loader and its check, as they are exported: files of this room, which the build puts into the program.
#pragma once

#include <string_view>

namespace heddle::webgpu {

std::string_view loader_script();  // heddle.js
std::string_view check_script();   // check.js
std::string_view page();           // index.html

}  // namespace heddle::webgpu
