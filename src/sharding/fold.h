// Joining partial results along a declared axis (`reduces`): pair by pair, from the first part on.
#pragma once

#include <vector>

#include "sharding/assembler.h"

namespace heddle::sharding {

// What `fold` makes of `parts` (at least one, tensors of the place) of output number `output`: in the tensor `result`, or,
// where that is -1, in a new one.
TensorId folded(Assembler& assembler, const Fold& fold, size_t output, const std::vector<TensorId>& parts,
                TensorId result, PlaceId place);

}  // namespace heddle::sharding
