// heddle compile --target webgpu: a page (docs/webgpu.md).
#pragma once

#include "cli/commands.h"
#include "support/diagnostic.h"

namespace heddle::cli {

// Whether a target's name asks for a page.
inline bool is_webgpu(const std::string& target) { return target == "webgpu" || target == "webgpu/default"; }

// Codes cli.compile_target (other targets beside it), those of loading, plan::make_plan, webgpu::make_package and
// write_package.
Result<void> compile_webgpu(const CompileOptions& options);

}  // namespace heddle::cli
