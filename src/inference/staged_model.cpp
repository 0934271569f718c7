#include "inference/staged_model.h"

#include <algorithm>
#include <set>

#include "evaluate/evaluate.h"
#include "evaluate/work.h"
#include "inference/steps.h"

namespace heddle::inference {

bool needs_stages(const Diagnostics& problems) {
    return std::ranges::any_of(problems, [](const Diagnostic& problem) {
        const auto has = [&](const char* key) {
            return std::ranges::any_of(problem.params, [&](const auto& param) { return param.first == key; });
        };
        // An input whose value is not given is no value of a stage.
        const bool waits = has("waits_for") && !has("not_given");
        return problem.code == "onnx.step" || problem.code == "onnx.open_branch" || waits;
    });
}

bool holds_for_little(const Graph& graph) {
    return std::ranges::any_of(graph.inputs, [&](TensorId input) {
        constexpr int64_t few = 6;
        const auto& decided = graph.tensor(input).constant;
        return decided && (decided->shape().size() > 1 || decided->size() > few || is_float(decided->dtype()));
    });
}

RunPart compiled_by(ProgramCache& programs) {
    return [&programs](const ProgramCache::Part& part, std::span<const Value* const> inputs, const Specialise& specialise,
                       const RunWatch& watch) {
        return programs.run(part, inputs, specialise, watch.progress, watch.profile);
    };
}

RunPart interpreted() {
    return [](const ProgramCache::Part&, std::span<const Value* const> inputs, const Specialise& specialise,
              const RunWatch& watch) -> Result<ProgramCache::Results> {
        std::vector<TensorData> tensors;
        for (const Value* input : inputs) tensors.push_back(*input->row_major().tensor);
        auto graph = specialise(tensors, watch.progress);
        if (!graph) return fail(std::move(graph.error()));
        auto values = evaluate_graph(*graph, tensors, Precision::body);
        if (!values) return fail(std::move(values.error()));
        ProgramCache::Results results{.values = {}, .tag = graph->tag, .operations = scalar_operations(*graph)};
        for (TensorId output : graph->outputs) {
            results.values.push_back(Value::of(std::move((*values)[static_cast<size_t>(output)])));
            results.values.back().sizes = graph->tensor(output).type.shape;
        }
        return results;
    };
}

StagedModel::StagedModel(const onnx::OnnxModel& model, const Library& library, RunPart run,
                         std::map<std::string, int64_t> bindings)
    : staging_{model, library, std::move(run)},
      bindings_(std::move(bindings)),
      graph_(staging_, model.graph, nullptr, "") {
    for (const onnx::OnnxValue* input : onnx::caller_inputs(model)) declared_.graph.inputs.push_back(*input);
}

namespace {

// The caller may write to it: what is only handed on, or handed on twice, is copied, and so is what grows.
Value own(Value value, std::set<const std::byte*>& taken) {
    value = value.dense();
    if (value.tensor && (!value.tensor->owned() || !taken.insert(value.tensor->data()).second))
        value.tensor = value.tensor->clone();
    if (!value.list) return value;
    std::vector<Value> elements;
    for (const Value& element : *value.list) elements.push_back(own(element, taken));
    return Value::of_list(std::move(elements));
}

}  // namespace

Result<std::vector<Value>> StagedModel::run(std::vector<Value> inputs, const RunWatch& watch) {
    const std::lock_guard lock(running_);
    const std::vector<onnx::OnnxValue>& declared = declared_.graph.inputs;
    std::vector<const std::vector<int64_t>*> shapes;
    for (const Value& value : inputs) shapes.push_back(value.tensor ? &value.tensor->shape() : nullptr);
    auto bound = onnx::bind_shapes(declared_, shapes, bindings_);
    if (!bound) return fail(std::move(bound.error()));
    for (size_t i = 0; i < declared.size(); i++) {
        Value& value = inputs[i];
        if (!value.tensor && !value.list && !onnx::is_list(declared[i])) continue;
        if (value.tensor && declared[i].dtype && value.tensor->dtype() != *declared[i].dtype)
            return fail(runtime::wrong_dtype(declared[i].name, {*declared[i].dtype, {}}, *value.tensor));
        for (size_t d = 0; value.tensor && d < declared[i].shape.size(); d++) {
            const std::string name = onnx::open_name(declared[i], d);
            const int64_t number = value.tensor->shape()[d];
            value.sizes.push_back(name.empty() || bindings_.contains(name) ? Size(number) : named_size(name, number));
        }
        graph_.set(graph_.number_of(declared[i].name), std::move(value));
    }
    double spent = 0;
    RunWatch counting = watch;
    counting.spent = &spent;
    auto results = graph_.run(counting);
    graph_.let_go();
    if (!results) return results;
    std::set<const std::byte*> taken;
    for (Value& value : *results) value = own(std::move(value), taken);
    return results;
}

}  // namespace heddle::inference
