#include "explain/explain_graph.h"

#include <nlohmann/json.hpp>

#include <map>

#include <fmt/format.h>

#include "explain/compiled.h"
#include "explain/explanation.h"
#include "explain/facts.h"

namespace heddle::explain {
namespace {

using Json = nlohmann::ordered_json;

Json ends_json(const Graph& graph, const std::vector<TensorId>& tensors, const std::vector<std::string>& names) {
    Json list = Json::array();
    for (size_t i = 0; i < tensors.size(); i++)
        list.push_back({{"name", names[i]}, {"type", graph.tensor(tensors[i]).type.text()}});
    return list;
}

// How often there is an operation of each operator: the most frequent first.
Json operators_json(const Graph& graph) {
    std::map<std::string, int64_t> counts;
    for (const Operation& operation : graph.operations) counts[operation.operator_name]++;
    std::vector<std::pair<std::string, int64_t>> sorted(counts.begin(), counts.end());
    std::ranges::stable_sort(sorted, std::greater{}, &std::pair<std::string, int64_t>::second);
    Json json = Json::object();
    for (const auto& [name, count] : sorted) json[name] = count;
    return json;
}

std::string ends_text(const Json& list, const char* title) {
    std::string text;
    for (const Json& end : list) text += fmt::format("{} {}: {}\n", title, text_of(end, "name"), text_of(end, "type"));
    return text;
}

}  // namespace

Result<Explanation> explain_graph(const Graph& graph, const EndNames& names, const Target& target,
                                  const ExplanationOptions& options) {
    Json json;
    json["graph"] = {{"operations", graph.operations.size()}, {"operators", operators_json(graph)}};
    json["inputs"] = ends_json(graph, graph.inputs, names.inputs);
    json["outputs"] = ends_json(graph, graph.outputs, names.outputs);
    json["rows"] = Json::array();
    if (auto costed = add_cost(graph, target, json); !costed) return fail(std::move(costed.error()));
    Explanation explanation{.facts = nullptr, .options = options, .svg = {}, .notes = {}};
    if (auto added = add_compiled(graph, target, options, json, explanation.notes); !added)
        return fail(std::move(added.error()));
    explanation.facts = std::make_shared<const Json>(std::move(json));
    return explanation;
}

std::string graph_text(const Json& json) {
    std::string text = ends_text(json["inputs"], "input") + ends_text(json["outputs"], "result");
    text += fmt::format("{} operations\n", json["graph"]["operations"].get<int64_t>());
    for (const auto& [name, count] : json["graph"]["operators"].items())
        text += fmt::format("  {} {}\n", count.get<int64_t>(), name);
    text += fmt::format("\n{}{}", cost_text(json["cost"]), kernels_text(json));
    return text + compiled_text(json);
}

}  // namespace heddle::explain
