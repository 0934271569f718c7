// Boxes of shards as parts of axes.
#pragma once

#include <vector>

#include "sharding/body_copy.h"
#include "sharding/shard.h"

namespace heddle::sharding {

// The different parts of each axis, ascending.
std::vector<std::vector<Range>> parts_of(const std::vector<Box>& boxes, size_t axes);

// Whether boxes (none of them empty) are all combinations of parts that fill each axis.
bool is_grid(const std::vector<Box>& boxes, const std::vector<Axis>& axes);

std::vector<Box> without_empty(const std::vector<Box>& boxes);

// Codes: sharding.cover, sharding.limit.
Result<void> check_boxes(const Operation& operation, const std::vector<Axis>& axes, const std::vector<Box>& boxes);

}  // namespace heddle::sharding
