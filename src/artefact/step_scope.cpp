#include "artefact/step_scope.h"

#include <fmt/format.h>

#include "frontends/onnx/order.h"
#include "zspace/origin.h"

namespace heddle::artefact {

std::string ValueType::text() const {
    std::string result = kind == Kind::nothing ? "nothing" : std::string(heddle::name(dtype));
    for (const ValueDimension& dimension : shape)
        result += dimension.value ? fmt::format(" {}", *dimension.value) : fmt::format(" '{}'", dimension.name);
    if (kind == Kind::list) result = is_empty ? "an empty list" : "a list of " + result;
    return may_be_absent ? "perhaps " + result : result;
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

ValueType list_of(ValueType element) {
    element.kind = ValueType::Kind::list;
    return element;
}

ValueType named_in_full(const std::string& name, ValueType type) {
    for (size_t d = 0; d < type.shape.size(); d++) {
        if (!type.shape[d].value && type.shape[d].name.empty()) type.shape[d] = own_dimension(name, d);
    }
    return type;
}

ValueType element_of(const std::string& name, ValueType list) {
    list.kind = ValueType::Kind::tensor;
    return named_in_full(name, std::move(list));
}

ValueType known_outside(const std::string& name, ValueType type, const std::set<std::string>& outside) {
    const bool is_list = type.kind == ValueType::Kind::list;
    for (size_t d = 0; d < type.shape.size(); d++) {
        const bool is_known = type.shape[d].value || outside.contains(type.shape[d].name);
        if (!is_known) type.shape[d] = is_list ? ValueDimension() : own_dimension(name, d);
    }
    return type;
}

std::optional<ValueType> joined(const std::string& name, const ValueType& a, const ValueType& b) {
    using Kind = ValueType::Kind;
    const bool may_be_absent = a.may_be_absent || b.may_be_absent || (a.kind == Kind::nothing) != (b.kind == Kind::nothing);
    const bool takes_other = a.kind == Kind::nothing || (a.is_empty && b.kind == Kind::list);
    ValueType result = takes_other ? b : a;
    result.may_be_absent = may_be_absent;
    if (takes_other || b.kind == Kind::nothing || (b.is_empty && a.kind == Kind::list)) return result;
    if (a.kind != b.kind || a.dtype != b.dtype || a.shape.size() != b.shape.size()) return std::nullopt;
    for (size_t d = 0; d < a.shape.size(); d++) {
        if (a.shape[d] == b.shape[d]) continue;
        result.shape[d] = a.kind == Kind::list ? ValueDimension() : own_dimension(name, d);
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
    for (const auto* known : {&values, &lent}) {
        if (const auto found = known->find(of); found != known->end()) return found->second;
    }
    return around ? around->place(of) : -1;
}

}  // namespace heddle::artefact
