// heddle compile --target webgpu: a page (docs/webgpu.md).
#pragma once

#include "cli/commands.h"
#include "support/diagnostic.h"

namespace heddle::cli {

// Whether a target asks for a page: "webgpu", which is the tag webgpu/default, or any target of that kind.
bool is_webgpu(const std::string& target);

// Codes cli.compile_target (other targets beside it), those of loading, plan::make_plan, webgpu::make_package and
// write_package.
Result<void> compile_webgpu(const CompileOptions& options);

}  // namespace heddle::cli
