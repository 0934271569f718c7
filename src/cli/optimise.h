// What the ways of `heddle optimise` share.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/support.h"

namespace heddle::cli {

// The model, or the program of --call; with --loss its gradient.
Result<Source> load_program(const OptimiseOptions& options, const Library& library,
                            const std::vector<std::string>& bindings, const std::vector<std::string>& rules);

// --simulate: what the program costs over many places of a cluster, by the model (placing/scale.h). Its exit status.
Result<int> simulate_scale(const OptimiseOptions& options);

}  // namespace heddle::cli
