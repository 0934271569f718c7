#include "inference/value.h"

namespace heddle::inference {

std::vector<Value> values_of(std::vector<TensorData> tensors) {
    std::vector<Value> values;
    for (TensorData& tensor : tensors) values.push_back(Value::of(std::move(tensor)));
    return values;
}

Result<std::vector<TensorData>> tensors_of(const std::vector<Value>& values, bool copies) {
    std::vector<TensorData> tensors;
    for (const Value& value : values) {
        if (!value.tensor && !value.growing)
            return fail({.code = "onnx.step",
                         .summary = "an input is a list",
                         .expected = "a tensor",
                         .reason = "one graph takes tensors alone"});
        if (value.tensor)
            tensors.push_back(*value.tensor);
        else if (copies)
            tensors.push_back(value.growing->dense());
        else
            tensors.emplace_back(value.growing->dtype(), value.growing->shape(), nullptr, nullptr);
    }
    return tensors;
}

}  // namespace heddle::inference
