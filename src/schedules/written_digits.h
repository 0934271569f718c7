// Polyphase: an axis i that goes through // and % by a small constant is s * q + p; with p written out, one equation
// for each, quotients and remainders fold to constants, conditions on parity are decided, and what is left moves
// plainly with q. So do digits that are axes already (docs/schedules.md, "Written digits").
#pragma once

#include <optional>

#include "schedules/kernel.h"

namespace heddle::schedules {

// The kernel with such digits written out, if it has any. Buffers keep their numbers.
std::optional<Kernel> with_written_digits(const Kernel& kernel);

}  // namespace heddle::schedules
