// Adjoints that do not exist are zeros: where a gather asks no more of them than that, it reads zeros.
#pragma once

#include "gradient/terms.h"

namespace heddle::gradient {

// What is summed where all of `filter` holds. If it is a product of nothing but reads and numbers, its reads give zero
// outside of what they read, as a convolution's do at its padding, and conditions that ask for no more leave the filter:
// so what is summed has the same form everywhere. Anything else comes back as it is: outside, a function could be
// infinite, which times zero is no number.
NodeId with_zeros_outside(Terms& terms, NodeId value, NodeList& filter);

}  // namespace heddle::gradient
