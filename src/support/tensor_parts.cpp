#include "support/tensor_parts.h"

#include <cstring>
#include <utility>

namespace heddle {
namespace {

// A tensor as rows of bytes: one for all that stands at one place of the dimensions before `axis`.
struct Rows {
    int64_t count = 1;
    int64_t element = 1;  // bytes at one place of `axis`
};

Rows rows_of(const TensorData& data, size_t axis) {
    Rows rows{.element = bytes(data.dtype())};
    for (size_t d = 0; d < data.shape().size(); d++) {
        if (d < axis) rows.count *= data.shape()[d];
        if (d > axis) rows.element *= data.shape()[d];
    }
    return rows;
}

}  // namespace

TensorData part_of(const TensorData& data, size_t axis, int64_t begin, int64_t count) {
    std::vector<int64_t> shape = data.shape();
    const int64_t extent = std::exchange(shape[axis], count);
    TensorData result(data.dtype(), shape);
    const Rows rows = rows_of(data, axis);
    const auto wide = static_cast<size_t>(count * rows.element);
    for (int64_t row = 0; row < rows.count && wide > 0; row++)
        std::memcpy(result.mutable_data() + row * count * rows.element,
                    data.data() + (row * extent + begin) * rows.element, wide);
    return result;
}

TensorData joined(std::span<const TensorData> parts, size_t axis) {
    std::vector<int64_t> shape = parts.front().shape();
    shape[axis] = 0;
    for (const TensorData& part : parts) shape[axis] += part.shape()[axis];
    TensorData result(parts.front().dtype(), shape);
    int64_t begin = 0;
    for (const TensorData& part : parts) {
        const Rows rows = rows_of(part, axis);
        const int64_t count = part.shape()[axis];
        for (int64_t row = 0; row < rows.count && count * rows.element > 0; row++)
            std::memcpy(result.mutable_data() + (row * shape[axis] + begin) * rows.element,
                        part.data() + row * count * rows.element, static_cast<size_t>(count * rows.element));
        begin += count;
    }
    return result;
}

TensorData with_dimension(const TensorData& data, size_t axis) {
    std::vector<int64_t> shape = data.shape();
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    return data.reshaped(std::move(shape));
}

TensorData without_dimension(const TensorData& data, size_t axis) {
    std::vector<int64_t> shape = data.shape();
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    return data.reshaped(std::move(shape));
}

}  // namespace heddle
