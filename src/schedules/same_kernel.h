// Whether two kernels are the same but for the tensors that they stand for: for any sizes of their names, not only here.
#pragma once

#include <cstddef>

#include "schedules/kernel.h"

namespace heddle::schedules {

// Of kernels that are not scheduled yet, and were formed in the same way: expressions were made in the same order. No fact.
// Where it is true their schedules are the same.
bool same(const Kernel& a, const Kernel& b);
size_t hash_of(const Kernel& kernel);  // equal for those that are

}  // namespace heddle::schedules
