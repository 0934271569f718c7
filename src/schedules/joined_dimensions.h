// Dimensions of a few neighbours that are asked for by number, or added up: channels of pixels, halves of pairs,
// windows as far apart as they are wide.
#pragma once

#include <optional>

#include "schedules/kernel.h"

namespace heddle::schedules {

// Where the innermost dimension of a buffer has 2 to 4 elements, and every access has a number or a reduced axis there,
// it is seen as one with the dimension around it: x[w, 2] of three channels is x[3 * w + 2]. Then it is known in the
// text that lanes along w lie between one another, and they are loaded as neighbours and permuted. So is a small
// matrix, all of it asked for by numbers, and the row of up to 64 that is left of it, or of which four elements at
// least are asked for. Nothing if there is no such buffer.
std::optional<Kernel> with_joined_dimensions(const Kernel& kernel);

}  // namespace heddle::schedules
