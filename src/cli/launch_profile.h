// The times of a session's launches, of warm runs, and what each launch computes.
#pragma once

#include <nlohmann/json.hpp>

#include "graph/graph.h"
#include "runtime/executable.h"

namespace heddle::cli {

struct LaunchProfile {
    size_t runs = 0;
    int64_t launched = 0;                       // in the last run
    std::vector<runtime::LaunchTime> launches;  // of the last run, in order, each with its median
    std::vector<double> least;                  // microseconds
    double sum_milliseconds() const;            // of the medians
};

// How many runs to measure where one takes so long: as many as `repeat` says, or a few. Their medians are comparable with what it
// reports.
size_t profiled_runs(int64_t repeat, double run_ms);

// Runs so often, after one run that warms it. Codes of running.
Result<LaunchProfile> profile_launches(runtime::Session& session, const std::vector<TensorData>& inputs,
                                       std::vector<TensorData>& outputs, size_t runs);

// [{name, operators, nodes, reads, writes, layout, kernel, tasks, threads, runs, microseconds, least_microseconds}]:
// of the plan's launches, which was made of this graph. Codes of fusing.
Result<nlohmann::ordered_json> launches_json(const Graph& graph, const plan::Plan& plan, const LaunchProfile& profile,
                                             int threads);

// Of a model in stages (inference/staged_model.h), whose launches are as many as data say: those of one name and kind are one, with all
// their time in a run.
class StagedProfile {
public:
    // What a run gave.
    void add(const std::vector<runtime::LaunchTime>& launches);
    LaunchProfile profile() const;
    // [{name, layout, launches, runs, microseconds, least_microseconds}], in the order in which they came first; `launches` are those of
    // the last run.
    nlohmann::ordered_json json() const;

private:
    struct Row {
        runtime::LaunchTime first;
        int64_t launches = 0;
        std::vector<double> microseconds;  // by run
    };
    std::vector<Row> rows_;
    size_t runs_ = 0;
};

}  // namespace heddle::cli
