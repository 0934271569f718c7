// heddle run --system: a graph on several devices.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.h"
#include "running/program.h"
#include "explain/placement.h"

namespace heddle::cli {

struct PlacedRun {
    explain::PlacedGraph placed;
    std::vector<TensorData> outputs;
    double compile_ms = 0;
    std::vector<double> run_ms;
    running::RunReport report;  // of the last run
    // Of each step that computes and has a plan: its function, and what is launched for it there.
    struct Kernels {
        std::string function;
        std::vector<std::pair<std::string, int64_t>> launches;  // names, tasks
    };
    std::vector<Kernels> kernels;
};

// Places, loads and runs the graph on this machine, as often as the options say. Codes: those of explain::placed, of
// Program::load and Program::run.
Result<PlacedRun> run_placed(const Graph& graph, const std::vector<TensorData>& feeds, const RunOptions& options);

}  // namespace heddle::cli
