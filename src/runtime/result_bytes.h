// How many bytes a result has for the sizes of now: as a number, of which no expression is made.
#pragma once

#include "graph/graph.h"

namespace heddle::runtime {

inline int64_t bytes_now(const TensorType& type) {
    auto count = static_cast<uint64_t>(bytes(type.dtype));  // which may wrap where there are no elements
    for (const Size& extent : type.shape) count *= static_cast<uint64_t>(extent.number());
    return static_cast<int64_t>(count);
}

}  // namespace heddle::runtime
