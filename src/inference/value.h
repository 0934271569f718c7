// What runs of models take and give: tensors, lists of them, tensors that grow, and those that lie over places.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/growing_memory.h"
#include "support/diagnostic.h"
#include "support/tensor_data.h"
#include "zspace/size.h"

namespace heddle::inference {

struct SpreadTensor;  // places.h

struct Value {
    std::optional<TensorData> tensor;
    std::shared_ptr<const std::vector<Value>> list;
    std::optional<runtime::Growing> growing;
    std::vector<Size> sizes;  // of the tensor's dimensions, with origins; empty: nothing is known of them
    std::shared_ptr<const SpreadTensor> spread = nullptr;  // one of the four; none: an optional that is not there

    static Value of(TensorData data) { return {.tensor = std::move(data), .list = nullptr, .growing = {}, .sizes = {}}; }
    static Value of_list(std::vector<Value> elements) {
        return {.tensor = {},
                .list = std::make_shared<std::vector<Value>>(std::move(elements)),
                .growing = {},
                .sizes = {}};
    }
    static Value of_growing(runtime::Growing growing) {
        return {.tensor = {}, .list = nullptr, .growing = std::move(growing), .sizes = {}};
    }
    static Value of_spread(std::shared_ptr<const SpreadTensor> spread) {
        return {.tensor = {}, .list = nullptr, .growing = {}, .sizes = {}, .spread = std::move(spread)};
    }
    // The same, no tensor of which grows: what did is copied.
    Value dense() const { return growing ? of(growing->dense()) : *this; }
    // The same, in the memory of what grows where it lies row-major there. Only to be read.
    Value row_major() const { return growing ? of(growing->row_major()) : *this; }

    bool is_tensor() const { return tensor || growing; }
    // ---- of a tensor
    DType dtype() const { return tensor ? tensor->dtype() : growing->dtype(); }
    size_t rank() const { return places().size(); }
    int64_t extent(size_t dimension) const {
        return growing && dimension == growing->memory->dimension() ? growing->length : places()[dimension];
    }
    std::vector<int64_t> shape() const { return tensor ? tensor->shape() : growing->shape(); }
    bool has_shape(const std::vector<Size>& shape) const;

    // The list's elements, to be changed: copies, where others hold the list too. This is nothing any more.
    std::vector<Value> take_list();

private:
    const std::vector<int64_t>& places() const { return tensor ? tensor->shape() : growing->memory->all().shape(); }
};

std::vector<Value> values_of(std::vector<TensorData> tensors);
// Row-major ones, which are copies of what grows; without `copies` that has a type and no memory, as what is spread has. Code onnx.step: one is no
// tensor.
Result<std::vector<TensorData>> tensors_of(const std::vector<Value>& values, bool copies = true);

}  // namespace heddle::inference
