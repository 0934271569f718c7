// The inputs that callers give, their open dimensions, and the numbers that given tensors bind them to.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontends/onnx/import.h"
#include "frontends/onnx/order.h"

namespace heddle::onnx {

std::vector<const OnnxValue*> caller_inputs(const OnnxModel& model) {
    std::set<std::string> initialized;
    for (const OnnxTensor& tensor : model.graph.initializers) initialized.insert(tensor.name);
    std::vector<const OnnxValue*> inputs;
    for (const OnnxValue& input : model.graph.inputs) {
        if (!initialized.contains(input.name)) inputs.push_back(&input);
    }
    return inputs;
}

std::vector<const OnnxValue*> overridable_inputs(const OnnxModel& model) {
    const std::vector<const OnnxValue*> others = caller_inputs(model);
    std::vector<const OnnxValue*> inputs;
    for (const OnnxValue& input : model.graph.inputs) {
        if (std::ranges::find(others, &input) == others.end()) inputs.push_back(&input);
    }
    return inputs;
}

std::optional<OnnxModel> without_initializers(const OnnxModel& model, const std::set<std::string>& names) {
    std::set<std::string> opened;
    for (const OnnxValue* input : overridable_inputs(model))
        if (names.contains(input->name)) opened.insert(input->name);
    if (opened.empty()) return std::nullopt;
    OnnxModel result = model;
    std::erase_if(result.graph.initializers, [&](const OnnxTensor& tensor) { return opened.contains(tensor.name); });
    return result;
}

std::vector<bool> read_inputs(const OnnxModel& model) {
    std::set<std::string_view> read;
    for (const OnnxValue& output : model.graph.outputs) read.insert(output.name);
    for (const OnnxNode& node : model.graph.nodes) read.merge(reads_of(node));
    std::vector<bool> result;
    for (const OnnxValue* input : caller_inputs(model)) result.push_back(read.contains(input->name));
    return result;
}

std::string open_name(const OnnxValue& input, size_t position) {
    const OnnxDimension& dimension = input.shape[position];
    if (dimension.value && *dimension.value >= 0) return {};
    // Exporters write "?" for what they do not know: two of them need not be equal.
    bool nameless = dimension.name.empty() || dimension.name == "?" || dimension.name == "-1";
    return nameless ? fmt::format("{}.{}", input.name, position) : dimension.name;
}

std::vector<OpenDimension> open_dimensions(const OnnxModel& model) {
    std::vector<OpenDimension> result;
    std::set<std::string> seen;
    auto inputs = caller_inputs(model);
    for (size_t i = 0; i < inputs.size(); i++) {
        for (size_t d = 0; d < inputs[i]->shape.size(); d++) {
            std::string name = open_name(*inputs[i], d);
            if (!name.empty() && seen.insert(name).second) result.push_back({name, i, d});
        }
    }
    return result;
}

Result<std::map<std::string, int64_t>> bind_shapes(const OnnxModel& model,
                                                   const std::vector<const std::vector<int64_t>*>& shapes,
                                                   std::map<std::string, int64_t> bindings) {
    auto inputs = caller_inputs(model);
    Diagnostics problems;
    for (size_t i = 0; i < inputs.size() && i < shapes.size(); i++) {
        if (!shapes[i] || !inputs[i]->has_shape) continue;
        const OnnxValue& input = *inputs[i];
        const auto& shape = *shapes[i];
        Diagnostic problem{.found = fmt::format("[{}]", fmt::join(shape, ", ")), .params = {{"input", input.name}}};
        if (shape.size() != input.shape.size()) {
            problem.code = "onnx.input_rank";
            problem.summary = fmt::format("input '{}' has the wrong number of dimensions", input.name);
            problem.expected = fmt::format("{} dimensions", input.shape.size());
            problems.push_back(std::move(problem));
            continue;
        }
        for (size_t d = 0; d < shape.size(); d++) {
            std::string name = open_name(input, d);
            int64_t expected =
                name.empty() ? *input.shape[d].value : bindings.try_emplace(name, shape[d]).first->second;
            if (expected == shape[d]) continue;
            problem.code = "onnx.input_shape";
            problem.summary = fmt::format("dimension {} of input '{}' does not fit", d, input.name);
            problem.expected = name.empty() ? std::to_string(expected) : fmt::format("{} = {}", name, expected);
            problems.push_back(problem);
        }
    }
    if (!problems.empty()) return fail(std::move(problems));
    return bindings;
}

}  // namespace heddle::onnx
