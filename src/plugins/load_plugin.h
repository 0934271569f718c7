// Backends from shared libraries (plugin_api.h).
#pragma once

#include <memory>
#include <string>

#include "codegen/backend.h"

namespace heddle::plugins {

// The backend of a plugin. The library stays loaded as long as the backend, its device or its code is there. It is code
// of the process: only load what you trust. Codes: plugins.no_file, plugins.not_loadable (the system's loader refuses
// it), plugins.no_symbol, plugins.version, plugins.refused (it does not open), plugins.incomplete (a function or the
// name is missing), plugins.threw, and those of its target (target.h). What the backend later fails at: plugins.failed, plugins.threw.
Result<std::shared_ptr<codegen::Backend>> load_plugin(const std::string& path);

}  // namespace heddle::plugins
