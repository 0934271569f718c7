#include "inference/model.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontends/onnx/import.h"
#include "symbolic/session.h"

namespace heddle::inference {

Result<std::vector<const TensorData*>> arrange(const std::vector<std::string>& names,
                                               const std::map<std::string, TensorData>& given) {
    Diagnostics problems;
    for (const auto& [name, tensor] : given) {
        if (std::ranges::find(names, name) != names.end()) continue;
        std::string near = nearest_name(name, names);
        problems.push_back({.code = "inference.unknown_input",
                            .summary = fmt::format("there is no input '{}'", name),
                            .expected = fmt::format("{}", fmt::join(names, ", ")),
                            .remedy = near.empty() ? "" : fmt::format("did you mean '{}'?", near),
                            .params = {{"input", name}}});
    }
    if (!problems.empty()) return fail(std::move(problems));
    std::vector<const TensorData*> result;
    for (const std::string& name : names) {
        auto found = given.find(name);
        result.push_back(found == given.end() ? nullptr : &found->second);
    }
    return result;
}

Diagnostic missing_input(const std::string& name, const std::string& type) {
    return {.code = "inference.missing_input",
            .summary = fmt::format("input '{}' is not given", name),
            .expected = type,
            .params = {{"input", name}}};
}

std::vector<std::string> input_names(const onnx::OnnxModel& model) {
    std::vector<std::string> names;
    for (const onnx::OnnxValue* input : onnx::caller_inputs(model)) names.push_back(input->name);
    return names;
}

std::vector<std::string> read_input_names(const onnx::OnnxModel& model) {
    const std::vector<bool> is_read = onnx::read_inputs(model);
    std::vector<std::string> names;
    for (size_t i = 0; const std::string& name : input_names(model)) {
        if (is_read[i++]) names.push_back(name);
    }
    return names;
}

std::vector<std::string> output_names(const onnx::OnnxModel& model) {
    std::vector<std::string> names;
    for (const onnx::OnnxValue& output : model.graph.outputs) names.push_back(output.name);
    return names;
}

namespace {

Diagnostics wrong_dtypes(const std::vector<const onnx::OnnxValue*>& inputs,
                         const std::vector<const TensorData*>& given) {
    Diagnostics problems;
    for (size_t i = 0; i < inputs.size(); i++) {
        if (!given[i] || !inputs[i]->dtype || given[i]->dtype() == *inputs[i]->dtype) continue;
        std::vector<Size> shape(given[i]->shape().begin(), given[i]->shape().end());
        problems.push_back(
            runtime::wrong_dtype(inputs[i]->name, TensorType{*inputs[i]->dtype, std::move(shape)}, *given[i]));
    }
    return problems;
}

Result<Graph> rewritten(const onnx::OnnxModel& model, const Library& library, const onnx::ImportOptions& options,
                        Rewriting& rewriting, FreeWeights* weights) {
    auto imported = onnx::import_calls(model, library, options);
    if (!imported) return fail(std::move(imported.error()));
    if (weights) weights->found = std::move(imported->free_weights);
    rewrite::CallGraph calls(std::move(imported->session), std::move(imported->outputs), output_names(model));
    auto steps = rewrite::apply_rules(calls, rewriting.rules);
    if (!steps) return fail(std::move(steps.error()));
    rewriting.steps = std::move(*steps);
    auto graph = calls.expand(calls.outputs());
    if (graph) graph->dimension_names = std::move(imported->dimension_names);
    return graph;
}

}  // namespace

Result<Graph> specialise(const onnx::OnnxModel& model, const Library& library,
                         const std::vector<const TensorData*>& given, const std::map<std::string, int64_t>& bindings,
                         Rewriting* rewriting, Progress* progress, FreeWeights* weights) {
    auto inputs = onnx::caller_inputs(model);
    std::vector<const std::vector<int64_t>*> shapes;
    onnx::ImportOptions options{.progress = progress};
    const auto offer = [&](const std::string& name, const TensorData& value) {
        if (!value.data()) return;
        const bool kept = value.owned() || value.size() > largest_folded;  // so many are never looked at
        options.values.emplace(name, kept ? value : value.clone());
    };
    for (size_t i = 0; i < inputs.size(); i++) {
        shapes.push_back(given[i] ? &given[i]->shape() : nullptr);
        if (given[i]) offer(inputs[i]->name, *given[i]);
    }
    auto bound = onnx::bind_shapes(model, shapes, bindings);
    if (!bound) return fail(std::move(bound.error()));
    if (auto problems = wrong_dtypes(inputs, given); !problems.empty()) return fail(std::move(problems));
    options.bindings = std::move(*bound);
    if (weights) {
        options.free_weights = weights->wanted;
        for (const auto& [name, value] : weights->values) offer(name, value);
    }
    SizeFacts facts;
    auto graph = [&]() -> Result<Graph> {
        const RecordingFacts recording(facts);
        if (rewriting && !rewriting->rules.empty()) return rewritten(model, library, options, *rewriting, weights);
        auto imported = onnx::import_model(model, library, options);
        if (!imported) return fail(std::move(imported.error()));
        if (weights) weights->found = std::move(imported->free_weights);
        return std::move(imported->graph);
    }();
    if (graph) graph->facts = std::move(facts);
    return graph;
}

void hold_bound(Graph& graph, const std::map<std::string, int64_t>& bindings) {
    for (const auto& [name, number] : bindings) {
        if (graph.facts && graph.dimension_names.contains(name))
            graph.facts->add({(named_size(name, number) - number).origin(), SizeFact::Relation::zero});
    }
}

}  // namespace heddle::inference
