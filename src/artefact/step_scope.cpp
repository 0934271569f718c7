#include "artefact/step_scope.h"

#include <fmt/format.h>

#include "frontends/onnx/order.h"
#include "zspace/origin.h"

namespace heddle::artefact {

std::string ValueType::text() const {
    std::string result(heddle::name(dtype));
    for (const ValueDimension& dimension : shape)
        result += dimension.value ? fmt::format(" {}", *dimension.value) : fmt::format(" '{}'", dimension.name);
    return result;
}

std::optional<int64_t> ValueType::elements() const {
    int64_t all = 1;
    for (const ValueDimension& dimension : shape) {
        if (!dimension.value || __builtin_mul_overflow(all, *dimension.value, &all)) return std::nullopt;
    }
    return all;
}

ValueType type_of(const TensorData& data) {
    ValueType type{data.dtype(), {}};
    for (const int64_t size : data.shape()) type.shape.push_back({size, {}});
    return type;
}

namespace {

ValueDimension own_dimension(const std::string& name, size_t d) {
    return {std::nullopt, fmt::format("{}.{}", name, d)};
}

}  // namespace

ValueType type_of(const std::string& name, const TensorType& type) {
    ValueType result{type.dtype, {}};
    for (size_t d = 0; d < type.shape.size(); d++) {
        const Size& size = type.shape[d];
        if (!size.named())
            result.shape.push_back({size.number(), {}});
        else if (size.origin()->kind() == Origin::Kind::name)
            result.shape.push_back({std::nullopt, size.origin()->text()});
        else
            result.shape.push_back(own_dimension(name, d));
    }
    return result;
}

std::optional<ValueType> joined(const std::string& name, const ValueType& a, const ValueType& b) {
    if (a.dtype != b.dtype || a.shape.size() != b.shape.size()) return std::nullopt;
    ValueType result = a;
    for (size_t d = 0; d < a.shape.size(); d++) {
        if (a.shape[d] != b.shape[d]) result.shape[d] = own_dimension(name, d);
    }
    return result;
}

StepScope::StepScope(const onnx::OnnxModel& model, const onnx::OnnxGraph& of, StepScope* outer, std::string called)
    : graph(of), around(outer), name(std::move(called)) {
    for (const std::string_view captured : onnx::captures_of(graph)) captures.emplace(captured);
    onnx::FlatGraph flat = onnx::flattened(model, graph);
    for (onnx::OnnxTensor& tensor : flat.initializers) initializers.emplace(tensor.name, std::move(tensor));
    for (const onnx::OnnxValue& output : graph.outputs) outputs.insert(output.name);
    nodes = std::move(flat.nodes);
}

const onnx::OnnxTensor* StepScope::initializer(const std::string& of) const {
    const auto found = initializers.find(of);
    if (found != initializers.end()) return &found->second;
    return around ? around->initializer(of) : nullptr;
}

int32_t StepScope::place(const std::string& of) const {
    const auto found = values.find(of);
    if (found != values.end()) return found->second;
    return around ? around->place(of) : -1;
}

}  // namespace heddle::artefact
