// heddle run --shard: a graph cut over several places: threads of this process, or processes of which this is one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/commands.h"
#include "running/places.h"
#include "placing/sharded.h"

namespace heddle::cli {

// Whether the options, or a launcher that started this process, ask for several places.
bool runs_sharded(const RunOptions& options);

// The way to the other processes: MPI where a launcher started several, or --machines says so, TCP by --hosts. Null: all
// places are threads of this process. Codes: those of transport::connect.
Result<std::shared_ptr<transport::Transport>> connect(const ShardOptions& options);

// What the options say of places. Codes: those of parse_cuts.
Result<running::PlacesOptions> places_for(const RunOptions& options, std::shared_ptr<transport::Transport> transport);

struct ShardedRun {
    placing::ShardedProgram program;  // without the processes
    std::vector<TensorData> outputs;  // of place 0; none elsewhere
    int rank = 0;                     // of this process; 0 also where all are threads of this one
    double compile_ms = 0;
    std::vector<double> run_ms;
    std::vector<running::RunReport> reports;  // of the last run, by process that runs here
    std::vector<std::vector<transport::Sent>> sent;  // in the last run, by process, to each
};

// Cuts, loads and runs the graph, as often as the options say. Codes: those of running::start and Together::run.
Result<ShardedRun> run_sharded(const Graph& graph, const std::vector<TensorData>& feeds, const RunOptions& options,
                               const running::PlacesOptions& places);

// {mesh, cuts, places: [{sends, receives}], links: [{from, to, ...}], modelled: ..., run: ...}
nlohmann::ordered_json shards_json(const Graph& graph, const ShardedRun& run);
std::string shards_text(const Graph& graph, const ShardedRun& run);

}  // namespace heddle::cli
