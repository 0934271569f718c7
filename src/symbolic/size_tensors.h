// Constants whose elements are sizes with names: for other numbers of the names they are others.
#pragma once

#include "symbolic/session_state.h"

namespace heddle {

// Puts an operation that makes its elements from the names in the place of each such constant.
void compute_size_tensors(Session::State& session);

}  // namespace heddle
