#include "explain/shards.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "placing/choose_cuts.h"
#include "placing/parts.h"

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
    Json json = {{"tensor", tensor.name}, {"start", numbers_of(box.start)}, {"end", numbers_of(box.end)}};
    json["unread"] = region.unread ? Json(*region.unread) : Json(nullptr);
    return json;
}

Json application_json(const Graph& graph, const Application& application, const std::vector<Axis>& axes) {
    Json index = Json::array(), inputs = Json::array(), outputs = Json::array();
    for (size_t axis = 0; axis < axes.size(); ++axis)
        index.push_back({{"axis", axes[axis].name},
                         {"start", application.index.start[axis].number()},
                         {"end", application.index.end[axis].number()}});
    for (const Region& region : application.inputs) inputs.push_back(region_json(graph, region));
    for (const Region& region : application.outputs) outputs.push_back(region_json(graph, region));
    return {{"shard", application.shard},  {"round", application.round},           {"stage", application.stage},
            {"part", application.part},    {"is_partial", application.is_partial}, {"index", std::move(index)},
            {"inputs", std::move(inputs)}, {"outputs", std::move(outputs)}};
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
        std::string text = step == 0 ? fmt::format("dimension {} by no fixed step", move["dimension"].get<int64_t>())
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

Result<std::vector<sharding::Cut>> cuts_of(const Graph& graph, const std::vector<std::string>& texts) {
    const auto said = placing::parse_cuts(texts);
    if (!said) return fail(said.error());
    if (graph.operations.empty())
        return fail({.code = "cli.shard",
                     .summary = "there is no operation to cut",
                     .reason = "the results are known from what is given",
                     .remedy = "give types instead of values"});
    int64_t places = 1;
    for (int64_t count : said->mesh) {
        if (count <= static_cast<int64_t>(sharding::most_shards) / places) {
            places *= count;
            continue;
        }
        return fail({.code = "sharding.limit",
                     .summary = "there are too many shards",
                     .expected = fmt::format("at most {}", sharding::most_shards),
                     .found = fmt::format("a mesh of {}", fmt::join(said->mesh, " x "))});
    }
    const auto system = placing::system_on_paper(static_cast<int32_t>(places));
    if (!system) return fail(system.error());
    auto cutting = placing::choose_cuts(graph, *said, *system, {sharding::PlaceId(0)});
    if (!cutting) return fail(std::move(cutting.error()));
    for (sharding::Cut& cut : cutting->cuts) cut.places.clear();
    return std::move(cutting->cuts);
}

Result<ShardedGraph> shard_operations(const Graph& graph, const std::vector<std::string>& texts, bool one_round) {
    auto cuts = cuts_of(graph, texts);
    if (!cuts) return fail(std::move(cuts.error()));
    ShardedGraph sharded{.before = graph, .placed = {}, .cut = {}};
    for (size_t o = 0; o < cuts->size(); o++) {
        (*cuts)[o].rescale = one_round;
        if ((*cuts)[o].boxes.size() > 1) sharded.cut.push_back(OperationId(o));
    }
    auto placed = sharding::place(graph, *cuts, {sharding::PlaceId(0)}, {}, true);
    if (!placed) return fail(std::move(placed.error()));
    sharded.placed = std::move(*placed);
    return sharded;
}

namespace {

constexpr size_t most_boxes_around = 243;  // of a point: three along each axis that has a middle

// Boxes around the point in the middle, which is one of them; nothing where there is no middle, or too many boxes.
std::optional<std::pair<std::vector<heddle::Box>, heddle::Box>> around_the_middle(const std::vector<Axis>& axes) {
    heddle::Box whole, middle;
    std::vector<heddle::Box> boxes = {heddle::Box{}};
    for (const Axis& axis : axes) {
        const int64_t extent = axis.extent.value(), at = extent / 2;
        const bool is_index = axis.column >= 0 && axis.reductions.empty() && !axis.fold && !axis.ordered;
        const bool is_cut = is_index && !axis.refusal && extent > 2;
        middle.start.push_back(is_cut ? at : 0);
        middle.end.push_back(is_cut ? at + 1 : extent);
        const std::vector<int64_t> cuts =
            is_cut ? std::vector<int64_t>{0, at, at + 1, extent} : std::vector<int64_t>{0, extent};
        std::vector<heddle::Box> longer;
        for (const heddle::Box& box : boxes) {
            for (size_t c = 0; c + 1 < cuts.size(); c++) {
                longer.push_back(box);
                longer.back().start.push_back(cuts[c]);
                longer.back().end.push_back(cuts[c + 1]);
            }
        }
        boxes = std::move(longer);
        if (boxes.size() > most_boxes_around) return std::nullopt;
    }
    if (boxes.size() == 1) return std::nullopt;
    return std::pair(std::move(boxes), std::move(middle));
}

bool has_whole_dimension(const Graph& graph, const Operation& operation) {
    for (size_t i = 0; i < operation.input_projections.size(); i++) {
        const auto extents = graph.tensor(operation.inputs[i]).type.extents();
        const auto& whole = operation.input_projections[i].whole;
        for (size_t d = 0; d < whole.size(); d++) {
            if (whole[d] && extents[d] > 1) return true;
        }
    }
    return false;
}

}  // namespace

Json point_json(const Graph& graph, const Operation& operation) {
    if (!operation.body || !has_whole_dimension(graph, operation)) return nullptr;
    const auto axes = sharding::axes_of(graph, operation);
    const auto boxes = around_the_middle(axes);
    if (!boxes) return nullptr;
    Graph alone = graph;
    alone.operations = {operation};
    alone.inputs = operation.inputs;
    const auto placed = sharding::place(alone, {{.boxes = boxes->first, .places = {}}}, {}, {}, true);
    if (!placed) return nullptr;
    for (const Application& application : placed->operations.front().applications) {
        if (application.index != boxes->second) continue;
        Json index = Json::object(), inputs = Json::array();
        bool says_more = false;
        for (size_t a = 0; a < axes.size(); a++) {
            if (boxes->second.extent(a) == 1 && axes[a].column >= 0) index[axes[a].name] = boxes->second.start[a].number();
        }
        for (const Region& region : application.inputs) {
            const auto extents = graph.tensor(region.tensor).type.extents();
            const auto found = std::ranges::find(operation.inputs, region.tensor) - operation.inputs.begin();
            const auto& whole = operation.input_projections[static_cast<size_t>(found)].whole;
            for (size_t d = 0; d < extents.size(); d++)
                says_more = says_more || (whole[d] && region.box.extent(d) < extents[d]);
            inputs.push_back(region_json(graph, region));
        }
        if (says_more) return {{"index", std::move(index)}, {"inputs", std::move(inputs)}};
    }
    return nullptr;
}

Json axes_json(const Graph& graph, const Operation& operation) {
    Json list = Json::array();
    for (const Axis& axis : sharding::axes_of(graph, operation)) {
        std::vector<std::string> combiners;
        for (NodeId id : axis.reductions) combiners.emplace_back(name(operation.body->node(id).reducer));
        if (axis.fold) combiners.push_back(operation.folds[*axis.fold].combiner);
        Json json = {{"name", axis.name},   {"extent", axis.extent.text()}, {"size", axis.extent.number()},
                     {"cut", cut_of(axis)}, {"combiners", combiners},       {"refusal", nullptr}};
        json["ordered"] = axis.ordered;
        json["inputs"] = movements_json(graph, operation.inputs, axis.inputs);
        json["outputs"] = movements_json(graph, operation.outputs, axis.outputs);
        if (axis.refusal) json["refusal"] = {{"code", axis.refusal->code}, {"reason", axis.refusal->reason}};
        list.push_back(std::move(json));
    }
    return list;
}

Json shards_json(const ShardedGraph& sharded, OperationId operation) {
    const sharding::Sharding& sharding = sharded.placed.operations[operation];
    const Graph& graph = sharded.placed.graph;
    Json json = {{"operation", sharded.before.operation(operation).name}, {"shards", sharding.boxes.size()}};
    json["applications"] = json["combinations"] = Json::array();
    for (const Application& application : sharding.applications)
        json["applications"].push_back(application_json(graph, application, sharding.axes));
    for (const sharding::Combination& combination : sharding.combinations)
        json["combinations"].push_back(combination_json(graph, combination));
    return json;
}

std::string point_text(const Json& point) {
    std::vector<std::string> index, inputs;
    for (const auto& [axis, at] : point["index"].items())
        index.push_back(fmt::format("{} = {}", axis, at.get<int64_t>()));
    for (const Json& input : point["inputs"]) inputs.push_back(input["tensor"].get<std::string>() + box_text(input));
    return fmt::format("  at [{}] it reads {}\n", fmt::join(index, ", "), fmt::join(inputs, ", "));
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
        if (axis["ordered"].get<bool>()) how.emplace_back("in order, each part with the states of the one before");
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
            const bool is_partial = application["is_partial"].get<bool>();
            text += fmt::format("  {}\n", part == "result" ? "results"
                                          : is_partial     ? "partial results, " + part
                                                           : part);
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
