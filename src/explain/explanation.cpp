#include "explain/explanation.h"

#include <nlohmann/json.hpp>

#include <limits>

#include <fmt/format.h>

#include "explain/arguments.h"
#include "explain/compiled.h"
#include "explain/explain_graph.h"
#include "explain/facts.h"
#include "explain/operation.h"
#include "explain/shards.h"
#include "explain/tape.h"
#include "pictures/draw_parts.h"
#include "support/tensor_text.h"
#include "symbolic/session.h"

namespace heddle::explain {
namespace {

using namespace pictures;

using Json = nlohmann::ordered_json;

// "softmax", "onnx:Softmax", "onnx:com.example::Swish".
Result<const Template*> find_operator(const Library& library, const std::string& name) {
    constexpr std::string_view prefix = "onnx:";
    if (!name.starts_with(prefix)) return library.find(name);
    std::string rest = name.substr(prefix.size());
    size_t colons = rest.find("::");
    std::string domain = colons == std::string::npos ? "" : rest.substr(0, colons);
    std::string operator_name = colons == std::string::npos ? rest : rest.substr(colons + 2);
    auto newest = library.find_onnx(domain, operator_name, std::numeric_limits<int64_t>::max());
    // The remedy names the opset: no model says one here.
    return newest ? newest : library.find_onnx(domain, operator_name, 1);
}

struct Applied {
    Graph graph;
    Json bindings;
    Diagnostics notes;
};

Result<Applied> apply(const Template& metakernel, const Library& library, const OperatorArguments& arguments) {
    Session session(library);
    std::vector<Argument> inputs;
    auto add = [&](const InputArgument& input) {
        return input.value ? session.add_constant(input.name, *input.value)
                           : session.add_input(input.name, input.type, input.start);
    };
    for (size_t i = 0; i < arguments.inputs.size(); i++) {
        std::vector<TensorId> tensors;
        for (const InputArgument& input : arguments.inputs[i]) tensors.push_back(add(input));
        if (tensors.empty())
            inputs.emplace_back();
        else if (metakernel.inputs[i].variadic)
            inputs.emplace_back(std::move(tensors));
        else
            inputs.emplace_back(tensors.front());
    }
    while (!inputs.empty() && !inputs.back().given) inputs.pop_back();
    std::vector<std::string> names;
    bool variadic = false;
    for (const TensorSpec& output : metakernel.outputs) {
        names.push_back(output.name);
        variadic = variadic || output.variadic;
    }
    auto results = session.apply(metakernel, inputs, arguments.parameters,
                                 {.names = variadic ? std::vector<std::string>{} : names});
    if (!results) return fail(std::move(results.error()));
    std::erase(*results, -1);
    auto environment = session.bind(metakernel, inputs, arguments.parameters);
    if (!environment) return fail(std::move(environment.error()));
    Applied applied{.graph = {}, .bindings = bindings_json(**environment), .notes = session.notes()};
    applied.graph = session.finish(std::move(*results));
    applied.graph.dimension_names = arguments.dimensions;
    return applied;
}

Json template_json(const Template& metakernel) {
    return {{"operator", metakernel.name}, {"doc", metakernel.doc}, {"template", print(metakernel)}};
}

// All that is said of every operator; what options ask for comes behind it.
Result<Json> operator_json(const Template& metakernel, const Applied& applied, const Target& target) {
    const Graph& graph = applied.graph;
    Json json = template_json(metakernel);
    json["bindings"] = applied.bindings;
    json["outputs"] = Json::array();
    for (TensorId t : graph.outputs) {
        const Tensor& tensor = graph.tensor(t);
        json["outputs"].push_back({{"name", tensor.name},
                                   {"type", tensor.type.text()},
                                   {"known", tensor.constant.has_value()},
                                   {"value", tensor.constant ? Json(some_values(*tensor.constant)) : Json(nullptr)}});
    }
    json["operations"] = Json::array();
    for (const Operation& operation : graph.operations) json["operations"].push_back(operation_json(graph, operation));
    json["notes"] = Json::array();
    for (const Diagnostic& note : applied.notes)
        json["notes"].push_back(
            {{"type", note.code}, {"summary", note.summary}, {"expected", note.expected}, {"found", note.found}});
    if (auto costed = add_cost(graph, target, json); !costed) return fail(std::move(costed.error()));
    json["in_place"] = json["cost"].contains("refusal") ? Json::array() : in_place_json(graph, target);
    auto gradient = gradient_of(graph);
    json["gradient"] = gradient ? gradient_json(graph, *gradient) : Json{{"refusal", refusal_json(gradient.error())}};
    json["rows"] = Json::array();
    for (const KernelRow& row : metakernel.kernels) json["rows"].push_back(row.text);
    return json;
}

// The graph with its operations sharded.
Result<Graph> add_shards(const Graph& graph, const ExplanationOptions& options, Json& json, std::string& svg) {
    auto sharded = shard_operations(graph, options.shards, options.one_round);
    if (!sharded) return fail(std::move(sharded.error()));
    json["sharding"] = Json::array();
    for (OperationId operation : sharded->cut) json["sharding"].push_back(shards_json(*sharded, operation));
    if (options.picture) svg = draw_shards(*sharded).text();
    return std::move(sharded->placed.graph);
}

// ---- for people

std::string adjoints_text(const Json& json, Notations notations) {
    std::string text = "\ngradient\n";
    for (const Json& input : json["inputs"])
        text += fmt::format("  from {}: {}\n", text_of(input, "name"), text_of(input, "type"));
    for (const Json& output : json["outputs"])
        text += fmt::format("  to {}: {}\n", text_of(output, "name"), text_of(output, "type"));
    for (const Json& operation : json["operations"]) text += fmt::format("\n{}", operation_text(operation, notations));
    return text;
}

std::string explanation_text(const Json& json, const ExplanationOptions& options) {
    std::string text;
    if (!text_of(json, "doc").empty()) text += fmt::format("{}\n\n", text_of(json, "doc"));
    text += fmt::format("{}\n", text_of(json, "template"));
    if (!json.contains("operations")) return text;  // the template alone
    text += bindings_text(json["bindings"]);
    for (const Json& output : json["outputs"]) {
        text += fmt::format("result {}: {}{}\n", text_of(output, "name"), text_of(output, "type"),
                            output["known"].get<bool>()
                                ? fmt::format(" = {}, computed already from what is known", text_of(output, "value"))
                                : "");
    }
    const Notations notations = options.notations ? Notations::all : Notations::rows;
    for (const Json& operation : json["operations"]) text += fmt::format("\n{}", operation_text(operation, notations));
    text += notes_text(json["notes"]);
    text += fmt::format("\n{}{}{}{}", cost_text(json["cost"]), options.gradient ? "" : gradient_text(json["gradient"]),
                        in_place_text(json["in_place"]), kernels_text(json));
    if (json.contains("sharding")) {
        for (const Json& shards : json["sharding"]) text += shards_text(shards);
    }
    if (options.gradient) text += adjoints_text(json["gradient"], notations) + tape_text(json["tape"]);
    text += compiled_text(json);
    return text;
}

}  // namespace

static void name_sizes(Graph& graph, SizeFacts facts) {
    for (const Tensor& tensor : graph.tensors) {
        for (const Size& size : tensor.type.shape) {
            if (size.named() && size.origin()->kind() == Origin::Kind::name)
                graph.dimension_names[size.origin()->text()] = size.number();
        }
    }
    if (!graph.dimension_names.empty()) graph.facts = std::move(facts);
}

std::string Explanation::json() const { return facts->dump(2, ' ', false, Json::error_handler_t::replace); }

std::string Explanation::text() const {
    return facts->contains("graph") ? graph_text(*facts) : explanation_text(*facts, options);
}

Result<Explanation> explain(const Library& library, const std::string& name, const std::vector<std::string>& texts,
                            const std::function<Result<Target>()>& machine, const ExplanationOptions& options) {
    Explanation explanation{.facts = nullptr, .options = options, .svg = {}, .notes = {}};
    auto metakernel = find_operator(library, name);
    if (!metakernel) return fail(std::move(metakernel.error()));
    if (texts.empty() && !(*metakernel)->inputs.empty()) {
        explanation.facts = std::make_shared<const Json>(template_json(**metakernel));
        return explanation;
    }
    auto arguments = parse_operator_arguments(**metakernel, texts);
    if (!arguments) return fail(std::move(arguments.error()));
    SizeFacts facts;
    auto applied = [&] {
        const RecordingFacts recording(facts);
        return apply(**metakernel, library, *arguments);
    }();
    if (!applied) return fail(std::move(applied.error()));
    name_sizes(applied->graph, std::move(facts));
    auto target = machine();
    if (!target) return fail(std::move(target.error()));
    auto explained = operator_json(**metakernel, *applied, *target);
    if (!explained) return fail(std::move(explained.error()));
    Json json = std::move(*explained);
    if (options.picture && options.shards.empty()) {
        const Notations notations = options.notations ? Notations::all : Notations::rows;
        explanation.svg = draw_operator(applied->graph, json, notations).text();
    }
    Result<Graph> graph = std::move(applied->graph);
    if (options.gradient) {
        auto tape = tape_json(*graph, wanted_of(*graph));
        if (!tape) return fail(std::move(tape.error()));
        json["tape"] = std::move(*tape);
        graph = gradient_of(*graph);
        if (!graph) return fail(std::move(graph.error()));
    }
    if (!options.shards.empty()) {
        graph = add_shards(*graph, options, json, explanation.svg);
        if (!graph) return fail(std::move(graph.error()));  // what follows is of the shards
    }
    if (auto added = add_compiled(*graph, *target, options, json, explanation.notes); !added)
        return fail(std::move(added.error()));
    explanation.facts = std::make_shared<const Json>(std::move(json));
    return explanation;
}

}  // namespace heddle::explain
