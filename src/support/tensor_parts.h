// Parts of tensors along a dimension, and tensors joined along one: by copying.
#pragma once

#include <span>

#include "support/tensor_data.h"

namespace heddle {

// Elements `begin` to `begin + count` of dimension `axis`, which has them.
TensorData part_of(const TensorData& data, size_t axis, int64_t begin, int64_t count);

// One behind the other along `axis`: at least one, of one type, and of one shape but for this dimension.
TensorData joined(std::span<const TensorData> parts, size_t axis);

// With a dimension of 1 before dimension `axis`, or without dimension `axis`, which is 1. The memory is the same.
TensorData with_dimension(const TensorData& data, size_t axis);
TensorData without_dimension(const TensorData& data, size_t axis);

}  // namespace heddle
