// A body whose inputs have one more axis, all or some of them.
#pragma once

#include <vector>

#include "graph/body.h"

namespace heddle::gradient {

// The same body where the inputs that are `given`, and all outputs, have one more first axis of this extent. The body
// is verified.
Body batched(const Body& body, const std::vector<bool>& given, const Size& extent);

}  // namespace heddle::gradient
