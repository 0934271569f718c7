// Where the operator library lies that came with this library.
#pragma once

#include <filesystem>

#include "support/diagnostic.h"

namespace heddle::api {

// Beside the file that holds this code (a shared library, or a program that it is linked into): ../share/heddle/NAME, as
// it is installed, or ../../share/heddle/NAME; or NAME beside the file, as it is built. Code api.operators.
Result<std::filesystem::path> data_folder(const std::string& name);

}  // namespace heddle::api
