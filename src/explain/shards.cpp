#include "explain/shards.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "explain/arguments.h"

namespace heddle::explain {
namespace {

using Json = nlohmann::ordered_json;
using sharding::Application;
using sharding::Axis;
using sharding::Movement;
using sharding::Region;

Json movements_json(const Graph& graph, const std::vector<TensorId>& tensors,
                    const std::vector<std::vector<Movement>>& movements) {
    Json list = Json::array();
    for (size_t i = 0; i < movements.size(); ++i) {
        Json moves = Json::array();
        for (const Movement& m : movements[i])
            moves.push_back({{"dimension", m.dimension}, {"step", m.step}, {"window", m.window}, {"halo", m.halo()}});
        list.push_back({{"tensor", graph.tensor(tensors[i]).name}, {"moves", std::move(moves)}});
    }
    return list;
}

const char* cut_of(const Axis& axis) {
    if (axis.refusal) return "no";
    if (axis.reductions.empty() && !axis.fold) return "passed";
    return axis.passed ? "passed and partial" : "partial";
}

// Counted from where the tensor's range begins.
Json region_json(const Graph& graph, const Region& region) {
    const Tensor& tensor = graph.tensor(region.tensor);
    heddle::Box box = region.box;
    for (size_t d = 0; d < tensor.start.size(); ++d) {
        box.start[d] += tensor.start[d];
        box.end[d] += tensor.start[d];
    }
    Json json = {{"tensor", tensor.name}, {"start", box.start}, {"end", box.end}};
    json["unread"] = region.unread ? Json(*region.unread) : Json(nullptr);
    return json;
}

Json application_json(const Graph& graph, const Application& application, const std::vector<Axis>& axes) {
    Json index = Json::array(), inputs = Json::array(), outputs = Json::array();
    for (size_t axis = 0; axis < axes.size(); ++axis)
        index.push_back({{"axis", axes[axis].name},
                         {"start", application.index.start[axis]},
                         {"end", application.index.end[axis]}});
    for (const Region& region : application.inputs) inputs.push_back(region_json(graph, region));
    for (const Region& region : application.outputs) outputs.push_back(region_json(graph, region));
    return {{"shard", application.shard},   {"round", application.round}, {"stage", application.stage},
            {"part", application.part},     {"index", std::move(index)},  {"inputs", std::move(inputs)},
            {"outputs", std::move(outputs)}};
}

Json combination_json(const Graph& graph, const sharding::Combination& combination) {
    Json partial = Json::array();
    for (TensorId id : combination.partial) partial.push_back(graph.tensor(id).name);
    return {{"round", combination.round},
            {"reducer", combination.combiner},
            {"part", combination.part},
            {"partial", std::move(partial)},
            {"dimensions", combination.dimensions},
            {"result", graph.tensor(combination.result).name}};
}

// "X by 2 in dimension 2, halo 1"; "all of W"
std::string movement_text(const Json& tensor) {
    std::string name = tensor["tensor"].get<std::string>();
    if (tensor["moves"].empty()) return "all of " + name;
    std::vector<std::string> parts;
    for (const Json& move : tensor["moves"]) {
        int64_t step = move["step"].get<int64_t>(), halo = move["halo"].get<int64_t>();
        std::string text = step == 0 ? fmt::format("any of dimension {}", move["dimension"].get<int64_t>())
                                     : fmt::format("by {} in dimension {}", step, move["dimension"].get<int64_t>());
        parts.push_back(text + (halo > 0 ? fmt::format(" with a halo of {}", halo) : ""));
    }
    return fmt::format("{} {}", name, fmt::join(parts, " and "));
}

std::string box_text(const Json& box) {
    std::vector<std::string> ranges;
    for (size_t d = 0; d < box["start"].size(); ++d)
        ranges.push_back(fmt::format("{}:{}", box["start"][d].get<int64_t>(), box["end"][d].get<int64_t>()));
    return fmt::format("[{}]", fmt::join(ranges, ", "));
}

std::string regions_text(const Json& regions) {
    std::vector<std::string> list;
    for (const Json& region : regions) {
        std::string text = region["tensor"].get<std::string>() + box_text(region);
        if (region["unread"].is_number() && region["unread"] > 0)
            text += fmt::format(" ({} not needed)", region["unread"].get<int64_t>());
        list.push_back(std::move(text));
    }
    return fmt::format("{}", fmt::join(list, ", "));
}

}  // namespace

Result<std::vector<ShardedOperation>> shard_operations(const Graph& graph, const std::vector<std::string>& texts,
                                                       bool one_round) {
    auto bindings = parse_bindings(texts, "--shard");
    if (!bindings) return fail(std::move(bindings.error()));
    std::vector<std::pair<std::string, int64_t>> parts(bindings->begin(), bindings->end());
    std::vector<ShardedOperation> result;
    Diagnostics problems;  // of the first operation
    Graph now = graph;
    for (size_t i = graph.operations.size(); i-- > 0;) {
        auto id = OperationId(i);
        auto boxes = sharding::boxes_by(now.operations[i], sharding::axes_of(now, now.operations[i]), parts);
        auto sharded = boxes ? sharding::shard(now, id, *boxes, one_round)
                             : Result<sharding::Sharding>(fail(std::move(boxes.error())));
        if (sharded) {
            result.push_back({now, id, std::move(*sharded)});
            now = result.back().sharding.graph;
            continue;
        }
        // An operation without the axes is left as it is, if another one has them.
        bool other = sharded.error()[0].code == "sharding.axis";
        if (!other) return fail(std::move(sharded.error()));
        problems = std::move(sharded.error());
    }
    if (result.empty() && problems.empty())
        return fail({.code = "cli.shard",
                     .summary = "there is no operation to cut",
                     .reason = "the results are known from what is given",
                     .remedy = "give types instead of values"});
    if (result.empty()) return fail(std::move(problems));
    return result;
}

Json axes_json(const Graph& graph, const Operation& operation) {
    Json list = Json::array();
    for (const Axis& axis : sharding::axes_of(graph, operation)) {
        std::vector<std::string> combiners;
        for (NodeId id : axis.reductions) combiners.emplace_back(name(operation.body->node(id).reducer));
        if (axis.fold) combiners.push_back(operation.folds[*axis.fold].combiner);
        Json json = {{"name", axis.name},   {"extent", axis.extent.text()}, {"size", axis.extent.value},
                     {"cut", cut_of(axis)}, {"combiners", combiners},       {"refusal", nullptr}};
        json["inputs"] = movements_json(graph, operation.inputs, axis.inputs);
        json["outputs"] = movements_json(graph, operation.outputs, axis.outputs);
        if (axis.refusal) json["refusal"] = {{"code", axis.refusal->code}, {"reason", axis.refusal->reason}};
        list.push_back(std::move(json));
    }
    return list;
}

Json shards_json(const ShardedOperation& sharded) {
    const sharding::Sharding& sharding = sharded.sharding;
    const Operation& operation = sharded.before.operations[static_cast<size_t>(sharded.operation)];
    Json json = {{"operation", operation.name}, {"shards", sharding.boxes.size()}};
    json["applications"] = json["combinations"] = Json::array();
    for (const Application& application : sharding.applications)
        json["applications"].push_back(application_json(sharding.graph, application, sharding.axes));
    for (const sharding::Combination& combination : sharding.combinations)
        json["combinations"].push_back(combination_json(sharding.graph, combination));
    return json;
}

std::string axes_text(const Json& axes) {
    std::string text;
    for (const Json& axis : axes) {
        text += fmt::format("    {} = {}: ", axis["name"].get<std::string>(), axis["size"].get<int64_t>());
        if (!axis["refusal"].is_null()) {
            text += fmt::format("no, {}\n", axis["refusal"]["reason"].get<std::string>());
            continue;
        }
        std::vector<std::string> how, moves;
        for (const Json& output : axis["outputs"])
            if (!output["moves"].empty()) how.push_back("parts of " + output["tensor"].get<std::string>());
        if (!axis["combiners"].empty())
            how.push_back(fmt::format("partial results, combined by {}",
                                      fmt::join(axis["combiners"].get<std::vector<std::string>>(), ", then ")));
        for (const Json& input : axis["inputs"]) moves.push_back(movement_text(input));
        text += fmt::format("{}{}{}\n", fmt::join(how, ", "), moves.empty() ? "" : "; reads ", fmt::join(moves, ", "));
    }
    return text;
}

std::string shards_text(const Json& json) {
    std::string text = fmt::format("\nshards of {}\n", json["operation"].get<std::string>());
    std::string stage;
    size_t combined = 0;  // combinations are in the order of their stages
    auto combine = [&](size_t before) {
        for (; combined < before; ++combined) {
            const Json& combination = json["combinations"][combined];
            text += fmt::format("    combined by {} into {}\n", combination["reducer"].get<std::string>(),
                                combination["result"].get<std::string>());
        }
    };
    for (const Json& application : json["applications"]) {
        std::string part = application["part"].get<std::string>();
        std::string next = fmt::format("{}:{}", application["stage"].get<size_t>(), part);
        if (next != stage) {
            combine(application["stage"].get<size_t>());
            text += fmt::format("  {}\n", part == "result" ? "results" : "partial results, " + part);
            stage = next;
        }
        std::vector<std::string> ranges;
        for (const Json& axis : application["index"])
            ranges.push_back(fmt::format("{}:{}", axis["start"].get<int64_t>(), axis["end"].get<int64_t>()));
        text += fmt::format("    shard {} [{}]: {}{}-> {}\n", application["shard"].get<size_t>(),
                            fmt::join(ranges, ", "), regions_text(application["inputs"]),
                            application["inputs"].empty() ? "" : " ", regions_text(application["outputs"]));
    }
    combine(json["combinations"].size());
    return text;
}

}  // namespace heddle::explain
