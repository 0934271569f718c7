#include "cli/run_sharded.h"

#include <chrono>
#include <cstring>
#include <map>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/support.h"
#include "running/places.h"
#include "transport/agree.h"
#include "transport/connect.h"
#include "transport/mpi.h"

namespace heddle::cli {
using Json = nlohmann::ordered_json;

bool runs_sharded(const RunOptions& options) {
    return !options.shard.shards.empty() || !options.shard.hosts.empty() || !options.shard.machines.empty() ||
           transport::launched_ranks().has_value();
}

Result<std::shared_ptr<transport::Transport>> connect(const ShardOptions& options) {
    if (options.hosts.empty() && options.machines.empty() && !transport::launched_ranks())
        return std::shared_ptr<transport::Transport>();
    return transport::connect({.hosts = options.hosts,
                               .rank = options.rank,
                               .library = options.machines == "mpi" ? "" : options.machines,
                               .timeout = options.timeout});
}

Result<running::PlacesOptions> places_for(const RunOptions& options, std::shared_ptr<transport::Transport> transport) {
    auto said = placing::parse_cuts(options.shard.shards);
    if (!said) return fail(std::move(said.error()));
    return running::PlacesOptions{std::move(*said), std::move(transport), options.threads,
                                  inference::make_kernel_cache(usable_folder(options.cache)), this_machine()};
}

namespace {

// What each process has sent: all say it to all.
Result<void> count_sent(ShardedRun& run, transport::Transport* transport) {
    for (const running::RunReport& report : run.reports) run.sent.push_back(report.sent);
    if (!transport) return {};
    const std::vector<transport::Sent> own = run.sent.front();
    const auto all = transport::exchanged(*transport, std::as_bytes(std::span(own)));
    if (!all) return fail(all.error());
    run.sent.assign(all->size(), own);
    for (size_t rank = 0; rank < all->size(); rank++)
        std::memcpy(run.sent[rank].data(), (*all)[rank].data(), (*all)[rank].size());
    return {};
}

}  // namespace

Result<ShardedRun> run_sharded(const Graph& graph, const std::vector<TensorData>& feeds, const RunOptions& options,
                               const running::PlacesOptions& places) {
    using Clock = std::chrono::steady_clock;
    auto begin = Clock::now();
    auto started = running::start(graph, places, {sharding::PlaceId(0)});
    if (!started) return fail(std::move(started.error()));
    ShardedRun run{.program = std::move(started->program)};
    run.rank = places.transport ? places.transport->rank() : 0;
    run.compile_ms = milliseconds_since(begin);
    for (int64_t i = 0; i < options.repeat; i++) {
        begin = Clock::now();
        auto results = started->together->run(feeds, &run.reports);
        if (!results) return fail(std::move(results.error()));
        run.run_ms.push_back(milliseconds_since(begin));
        run.outputs = std::move(results->front());
    }
    if (auto counted = count_sent(run, places.transport.get()); !counted) return fail(std::move(counted.error()));
    return run;
}

namespace {

// Of one place to another, as planned and as it was sent.
struct Link {
    int64_t messages = 0, bytes = 0;
    transport::Sent sent;
};

std::map<std::pair<int32_t, int32_t>, Link> links_of(const ShardedRun& run) {
    std::map<std::pair<int32_t, int32_t>, Link> links;
    for (const placing::Message& message : run.program.messages) {
        Link& link = links[{message.from, message.to}];
        link.messages++;
        link.bytes += message.bytes;
    }
    for (size_t from = 0; from < run.sent.size(); from++) {
        for (size_t to = 0; to < run.sent[from].size(); to++)
            if (run.sent[from][to].messages > 0)
                links[{static_cast<int32_t>(from), static_cast<int32_t>(to)}].sent = run.sent[from][to];
    }
    return links;
}

Json collective_json(const placing::Collective& collective) {
    Json json = {{"kind", placing::name(collective.kind)}, {"tensor", collective.tensor}, {"groups", Json::array()}};
    if (!collective.part.empty()) json.update({{"combiner", collective.combiner}, {"part", collective.part}});
    for (const auto& group : collective.groups) {
        Json places = Json::array();
        for (sharding::PlaceId place : group) places.push_back(place.number());
        json["groups"].push_back(std::move(places));
    }
    json["bytes"] = collective.bytes;
    json["busiest_bytes"] = collective.busiest;
    return json;
}

}  // namespace

Json shards_json(const Graph& graph, const ShardedRun& run) {
    const placing::Cutting& cutting = run.program.cutting;
    Json json = {{"mesh", cutting.mesh}, {"cuts", Json::object()}, {"places", Json::array()}};
    for (size_t o = 0; o < graph.operations.size(); o++) {
        Json axes = Json::array();
        for (const std::string& axis : cutting.axes[o]) axes.push_back(axis.empty() ? Json(nullptr) : Json(axis));
        json["cuts"][graph.operations[o].name] = std::move(axes);
    }
    for (size_t p = 0; p < cutting.out.size(); p++)
        json["places"].push_back({{"sends", cutting.out[p]}, {"receives", cutting.in[p]}});
    json["modelled"] = {{"compute_seconds", cutting.compute_seconds}, {"send_seconds", cutting.send_seconds}};
    json["links"] = Json::array();
    for (const auto& [way, link] : links_of(run)) {
        json["links"].push_back({{"from", way.first},
                                 {"to", way.second},
                                 {"messages", link.messages},
                                 {"bytes", link.bytes},
                                 {"sent_messages", link.sent.messages},
                                 {"sent_bytes", link.sent.bytes}});
    }
    json["messages"] = run.program.messages.size();
    json["bytes"] = cutting.bytes;
    json["collectives"] = Json::array();
    for (const placing::Collective& each : run.program.collectives)
        json["collectives"].push_back(collective_json(each));
    json["rank"] = run.rank;
    json["run"] = Json::array();
    for (const running::RunReport& report : run.reports) {
        transport::Sent all;
        for (const transport::Sent& sent : report.sent) {
            all.messages += sent.messages;
            all.bytes += sent.bytes;
        }
        Json own = {{"sent_messages", all.messages}, {"sent_bytes", all.bytes}, {"steps", Json::array()}};
        for (const running::RunReport::Line& line : report.lines)
            own["steps"].push_back({{"what", line.what}, {"seconds", line.seconds}, {"bytes", line.bytes}});
        json["run"].push_back(std::move(own));
    }
    return json;
}

std::string shards_text(const Graph& graph, const ShardedRun& run) {
    const placing::Cutting& cutting = run.program.cutting;
    std::string text = fmt::format("mesh of {} places\n", fmt::join(cutting.mesh, " x "));
    for (size_t o = 0; o < graph.operations.size(); o++) {
        std::vector<std::string> axes;
        for (const std::string& axis : cutting.axes[o]) axes.push_back(axis.empty() ? "whole" : "cut along " + axis);
        text += fmt::format("  {}: {}\n", graph.operations[o].name, fmt::join(axes, ", "));
    }
    for (size_t p = 0; p < cutting.out.size(); p++)
        text += fmt::format("place {} sends {} bytes, receives {}\n", p, cutting.out[p], cutting.in[p]);
    for (const auto& [way, link] : links_of(run))
        text += fmt::format("link {} to {}: {} messages of {} bytes, sent {} of {}\n", way.first, way.second,
                            link.messages, link.bytes, link.sent.messages, link.sent.bytes);
    for (const placing::Collective& each : run.program.collectives) text += placing::text(each) + "\n";
    return text + fmt::format("modelled: {:.3g} ms of work, {:.3g} ms of messages", 1e3 * cutting.compute_seconds,
                              1e3 * cutting.send_seconds);
}

}  // namespace heddle::cli
