#include "symbolic/static_tensor.h"

namespace heddle {
namespace {

// Nested lists of one shape as their elements in order.
bool flatten(const StaticValue& value, size_t depth, std::vector<int64_t>& shape, std::vector<StaticValue>& elements) {
    if (!value.is_list()) {
        elements.push_back(value);
        return depth == shape.size();
    }
    auto length = static_cast<int64_t>(value.list().size());
    if (depth == shape.size() && elements.empty()) shape.push_back(length);
    if (depth >= shape.size() || shape[depth] != length) return false;
    for (const StaticValue& element : value.list()) {
        if (!flatten(element, depth + 1, shape, elements)) return false;
    }
    return true;
}

}  // namespace

std::optional<TensorData> tensor_of(const StaticValue& value) {
    std::vector<int64_t> shape;
    std::vector<StaticValue> elements;
    if (!flatten(value, 0, shape, elements)) return std::nullopt;
    bool integers = true, booleans = !elements.empty();
    for (const StaticValue& element : elements) {
        if (!element.is_number() && !element.is_boolean()) return std::nullopt;
        integers = integers && element.is_integer();
        booleans = booleans && element.is_boolean();
    }
    TensorData data(booleans ? DType::boolean : integers ? DType::int64 : DType::float32, shape);
    for (size_t i = 0; i < elements.size(); i++) {
        auto at = static_cast<int64_t>(i);
        if (elements[i].is_boolean() != booleans) return std::nullopt;
        if (booleans)
            data.set_integer(at, elements[i].boolean());
        else if (integers)
            data.set_integer(at, elements[i].integer());
        else
            data.set_real(at, elements[i].number());
    }
    return data;
}

}  // namespace heddle
