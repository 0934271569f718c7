// The steps of a scan, each of which only takes a term into its states (a sum so far, the greatest so far), depend on one
// another less than their order says: they are taken a vector at a time, if there are no lanes elsewhere
// (docs/schedules.md, "Scans").
#pragma once

#include <optional>

#include "schedules/kernel.h"
#include "target/target.h"

namespace heddle::schedules {

// The kernel with such scans as one stream each along their steps, if there is one. Tensors keep their numbers; what is
// made of a state follows.
std::optional<Kernel> in_vector_steps(const Kernel& kernel, const Target& target);

}  // namespace heddle::schedules
