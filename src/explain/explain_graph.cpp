#include "explain/explain_graph.h"

#include <nlohmann/json.hpp>

#include <map>

#include <fmt/format.h>

#include "explain/compiled.h"
#include "explain/explanation.h"
#include "explain/facts.h"
#include "pictures/kernel_summary.h"

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

// {operators, operations} of each launch of the run that computes: what has been fused into it. Nothing where a plan is
// not made of the kernels that fusion foresees.
Result<void> add_operations(const Graph& graph, const Target& target, Json& launches) {
    auto summaries = pictures::summarise(graph, target);
    if (!summaries) return fail(std::move(summaries.error()));
    std::map<std::string, std::vector<Json*>> by_name;
    for (Json& launch : launches)
        if (text_of(launch, "phase") == "run" && !launch["layout"].get<bool>())
            by_name[text_of(launch, "writes")].push_back(&launch);
    for (auto& [name, list] : by_name) {
        const auto found = summaries->find(name);
        if (found == summaries->end() || found->second.size() != list.size()) continue;
        for (size_t i = 0; i < list.size(); i++) {
            const std::set<OperationId>& operations = found->second[i].operations;
            if (operations.empty()) continue;
            (*list[i])["operators"] = pictures::operators_text(graph, operations);
            for (OperationId o : operations) (*list[i])["operations"].push_back(graph.operation(o).name);
        }
    }
    return {};
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
    if (!json["compiled"].empty()) {
        if (auto added = add_operations(graph, target, json["compiled"]); !added) return fail(std::move(added.error()));
    }
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
    text += fmt::format("\n{}{}{}", cost_text(json["cost"]), memory_text(json["cost"]), kernels_text(json));
    return text + compiled_text(json);
}

}  // namespace heddle::explain
