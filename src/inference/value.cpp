#include "inference/value.h"

#include <algorithm>
#include <utility>

#include "inference/places.h"

namespace heddle::inference {

bool SpreadTensor::is_here() const {
    std::vector<Box> missing = {Box::whole({shape.begin(), shape.end()})};
    for (const Part& part : parts) {
        if (!part.here.data()) continue;
        std::vector<Box> left;
        for (const Box& box : missing)
            for (Box& other : difference(box, intersection(box, part.box))) left.push_back(std::move(other));
        missing = std::move(left);
    }
    return std::ranges::all_of(missing, &Box::is_empty);
}

bool Value::has_shape(const std::vector<Size>& shape) const {
    if (shape.size() != rank()) return false;
    for (size_t d = 0; d < shape.size(); d++) {
        if (shape[d].number() != extent(d)) return false;
    }
    return true;
}

// Nobody but us can come by a list that we alone hold.
std::vector<Value> Value::take_list() {
    const auto held = std::const_pointer_cast<std::vector<Value>>(std::exchange(list, nullptr));
    return held.use_count() == 1 ? std::move(*held) : *held;
}

std::vector<Value> values_of(std::vector<TensorData> tensors) {
    std::vector<Value> values;
    for (TensorData& tensor : tensors) values.push_back(Value::of(std::move(tensor)));
    return values;
}

Result<std::vector<TensorData>> tensors_of(const std::vector<Value>& values, bool copies) {
    std::vector<TensorData> tensors;
    for (const Value& value : values) {
        if (!value.tensor && !value.growing && !value.spread)
            return fail({.code = "onnx.step",
                         .summary = "an input is a list",
                         .expected = "a tensor",
                         .reason = "one graph takes tensors alone"});
        if (value.tensor)
            tensors.push_back(*value.tensor);
        else if (value.spread)
            tensors.emplace_back(value.spread->dtype, value.spread->shape, nullptr, nullptr);
        else if (copies)
            tensors.push_back(value.growing->dense());
        else
            tensors.emplace_back(value.growing->dtype(), value.growing->shape(), nullptr, nullptr);
    }
    return tensors;
}

}  // namespace heddle::inference
