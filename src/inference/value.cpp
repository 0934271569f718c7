#include "inference/value.h"

namespace heddle::inference {

std::vector<Value> values_of(std::vector<TensorData> tensors) {
    std::vector<Value> values;
    for (TensorData& tensor : tensors) values.push_back(Value::of(std::move(tensor)));
    return values;
}

Result<std::vector<TensorData>> tensors_of(const std::vector<Value>& values) {
    std::vector<TensorData> tensors;
    for (const Value& value : values) {
        if (!value.tensor && !value.growing)
            return fail({.code = "onnx.step",
                         .summary = "an input is a list",
                         .expected = "a tensor",
                         .reason = "one graph takes tensors alone"});
        tensors.push_back(value.growing ? value.growing->dense() : *value.tensor);
    }
    return tensors;
}

}  // namespace heddle::inference
