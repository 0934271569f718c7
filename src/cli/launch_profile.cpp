#include "cli/launch_profile.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include <fmt/format.h>

#include "pictures/kernel_summary.h"

namespace heddle::cli {

double LaunchProfile::sum_milliseconds() const {
    double sum = 0;
    for (const runtime::LaunchTime& launch : launches) sum += launch.microseconds / 1e3;
    return sum;
}

size_t profiled_runs(int64_t repeat, double run_ms) {
    constexpr int64_t few = 10, most = 1000;
    constexpr double longest_ms = 5000;  // that a few runs may take
    const auto in_time = static_cast<int64_t>(longest_ms / std::max(run_ms, 1.0));
    return static_cast<size_t>(repeat > 1 ? std::min(repeat, most) : std::clamp<int64_t>(in_time, 1, few));
}

Result<LaunchProfile> profile_launches(runtime::Session& session, const std::vector<TensorData>& inputs,
                                       std::vector<TensorData>& outputs, size_t runs) {
    if (auto done = session.run(inputs, outputs); !done) return fail(std::move(done.error()));
    std::vector<runtime::LaunchTime> all;
    session.set_profile(&all);
    for (size_t run = 0; run < runs; run++) {
        if (auto done = session.run(inputs, outputs); !done) return fail(std::move(done.error()));
    }
    session.set_profile(nullptr);
    const size_t launches = all.size() / runs;
    LaunchProfile profile{.runs = runs, .launched = static_cast<int64_t>(launches), .launches = {}, .least = {}};
    for (size_t i = 0; i < launches; i++) {
        std::vector<double> of_launch;
        for (size_t run = 0; run < runs; run++) of_launch.push_back(all[run * launches + i].microseconds);
        std::ranges::sort(of_launch);
        profile.launches.push_back(all[(runs - 1) * launches + i]);
        profile.launches.back().microseconds = of_launch[runs / 2];
        profile.least.push_back(of_launch.front());
    }
    return profile;
}

namespace {

using Json = nlohmann::ordered_json;

// What comes into some operations from outside, and what leaves them: "x: float32[2, 3]".
void add_tensors(const Graph& graph, const std::set<OperationId>& operations, Json& row) {
    std::set<TensorId> made, read, read_outside(graph.outputs.begin(), graph.outputs.end());
    for (const OperationId o : operations) {
        made.insert(graph.operation(o).outputs.begin(), graph.operation(o).outputs.end());
        read.insert(graph.operation(o).inputs.begin(), graph.operation(o).inputs.end());
    }
    for (size_t o = 0; o < graph.operations.size(); o++) {
        const Operation& operation = graph.operations[o];
        if (!operations.contains(OperationId(o))) read_outside.insert(operation.inputs.begin(), operation.inputs.end());
    }
    const auto text = [&](TensorId t) {
        return fmt::format("{}: {}", graph.tensor(t).name, graph.tensor(t).type.text());
    };
    row["reads"] = row["writes"] = Json::array();
    for (const TensorId t : read) {
        if (!made.contains(t)) row["reads"].push_back(text(t));
    }
    for (const TensorId t : made) {
        if (read_outside.contains(t)) row["writes"].push_back(text(t));
    }
}

}  // namespace

Result<Json> launches_json(const Graph& graph, const plan::Plan& plan, const LaunchProfile& profile, int threads) {
    auto summaries = pictures::summarise(graph, plan.target, threads);
    if (!summaries) return fail(std::move(summaries.error()));
    std::vector<const plan::Launch*> launches;
    for (const plan::Batch& batch : plan.run) {
        for (const plan::Launch& launch : batch) launches.push_back(&launch);
    }
    std::map<std::string, size_t> next;  // of kernels whose launches have one name
    Json list = Json::array();
    for (size_t i = 0; i < profile.launches.size(); i++) {
        const runtime::LaunchTime& time = profile.launches[i];
        Json row = {{"name", time.name}};
        const auto found = summaries->find(time.name);
        const size_t at = time.layout ? 0 : next[time.name]++;
        if (!time.layout && found != summaries->end() && at < found->second.size()) {
            const auto& operations = found->second[at].operations;
            row["operators"] = pictures::operators_text(graph, operations);
            row["nodes"] = Json::array();
            for (const OperationId o : operations) row["nodes"].push_back(graph.operation(o).name);
            add_tensors(graph, operations, row);
            row["modelled_microseconds"] = 1e6 * found->second[at].seconds;
        }
        row.update({{"layout", time.layout},
                    {"kernel", time.tree},
                    {"tasks", i < launches.size() ? launches[i]->tasks.number() : 0},
                    {"threads", threads},
                    {"runs", profile.runs},
                    {"microseconds", time.microseconds},
                    {"least_microseconds", profile.least[i]}});
        list.push_back(std::move(row));
    }
    return list;
}

void StagedProfile::add(const std::vector<runtime::LaunchTime>& launches) {
    runs_++;
    for (Row& row : rows_) {
        row.launches = 0;
        row.microseconds.push_back(0);
    }
    for (const runtime::LaunchTime& launch : launches) {
        auto row = std::ranges::find_if(rows_, [&](const Row& known) {
            return known.first.name == launch.name && known.first.layout == launch.layout;
        });
        if (row == rows_.end()) row = rows_.insert(row, {launch, 0, std::vector<double>(runs_)});
        row->launches++;
        row->microseconds.back() += launch.microseconds;
    }
}

LaunchProfile StagedProfile::profile() const {
    LaunchProfile profile{.runs = runs_, .launched = 0, .launches = {}, .least = {}};
    for (const Row& row : rows_) {
        std::vector<double> sorted = row.microseconds;
        std::ranges::sort(sorted);
        profile.launches.push_back(row.first);
        profile.launches.back().microseconds = sorted[runs_ / 2];
        profile.least.push_back(sorted.front());
        profile.launched += row.launches;
    }
    return profile;
}

Json StagedProfile::json() const {
    const LaunchProfile profile = this->profile();
    Json list = Json::array();
    for (size_t i = 0; i < rows_.size(); i++) {
        list.push_back({{"name", rows_[i].first.name},
                        {"layout", rows_[i].first.layout},
                        {"launches", rows_[i].launches},
                        {"runs", profile.runs},
                        {"microseconds", profile.launches[i].microseconds},
                        {"least_microseconds", profile.least[i]}});
    }
    return list;
}

}  // namespace heddle::cli
