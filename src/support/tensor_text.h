// Tensors in a few words.
#pragma once

#include <string>

#include "support/tensor_data.h"

namespace heddle {

// The first six elements: "1 2.5 3 ...".
std::string some_values(const TensorData& data);

}  // namespace heddle
