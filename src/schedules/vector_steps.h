// A scan as one nest (docs/schedules.md, "Scans"). Steps that only take a term into their states (a sum so far, the
// greatest so far) depend on one another less than their order says: they are taken a vector at a time, if there are no
// lanes elsewhere, or if they only add and lie side by side in memory. Else, if no point asks what another one had, the steps run in turn inside a tile of points, which
// keeps their states.
#pragma once

#include <optional>

#include "schedules/kernel.h"
#include "target/target.h"

namespace heddle::schedules {

// The kernel with such scans as one nest each, if any. Tensors keep their numbers; what is made of a state follows.
std::optional<Kernel> in_vector_steps(const Kernel& kernel, const Target& target);

}  // namespace heddle::schedules
