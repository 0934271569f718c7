// The times of a session's launches, of warm runs, and what each launch computes.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "graph/graph.h"
#include "runtime/executable.h"

namespace heddle::cli {

struct LaunchProfile {
    size_t runs = 0;
    std::vector<runtime::LaunchTime> launches;  // of the last run, in order, each with its median
    std::vector<double> least;                  // microseconds
    double sum_milliseconds() const;            // of the medians
};

// Runs so often, after one run that warms it. Codes of running.
Result<LaunchProfile> profile_launches(runtime::Session& session, const std::vector<TensorData>& inputs,
                                       std::vector<TensorData>& outputs, size_t runs);

// [{name, operators, nodes, reads, writes, layout, kernel, tasks, threads, runs, microseconds, least_microseconds}]:
// of the plan's launches, which was made of this graph. Codes of fusing.
Result<nlohmann::ordered_json> launches_json(const Graph& graph, const plan::Plan& plan, const LaunchProfile& profile,
                                             int threads);

}  // namespace heddle::cli
