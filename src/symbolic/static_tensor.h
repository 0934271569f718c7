// Static values as tensors: a number is of rank 0, a list of numbers of rank 1, and so on.
#pragma once

#include <optional>

#include "support/tensor_data.h"
#include "symbolic/value.h"

namespace heddle {

// Truth values are bool, integers alone int64, other numbers float32. Nothing: lists of different lengths, or other
// values.
std::optional<TensorData> tensor_of(const StaticValue& value);

}  // namespace heddle
