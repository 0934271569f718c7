// What `heddle run` does with a model that is no one graph: it runs in stages (inference/staged_model.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/launch_profile.h"
#include "cli/support.h"
#include "inference/staged_model.h"

namespace heddle::cli {

// What is said of an option that asks for something of one graph. Code cli.stages.
std::unexpected<Diagnostics> for_one_graph(const std::string& option);

struct StagedRun {
    // Of each output, and of each element of one that is a list: NAME[0], NAME[1] ...
    std::vector<std::string> output_names;
    std::vector<TensorData> outputs;
    double compile_ms = 0;  // of the first run, beyond what the next one takes
    std::vector<double> run_ms;
    runtime::KernelCounts kernels;
    Diagnostics notes;
    StagedProfile profile;  // of warm runs, where it was asked for
};

// `given`: tensors of inputs, and of NAME[0], NAME[1] ... for one that is a list. Codes: those of StagedModel::run,
// inference.missing_input, cli.stages (an option that is for one graph).
Result<StagedRun> run_staged(const RunOptions& options, const Library& library,
                             const std::map<std::string, TensorData>& given, std::shared_ptr<inference::Engine> engine,
                             Progress& progress);

}  // namespace heddle::cli
