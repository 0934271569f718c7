// Packed maps of operands, and the kernels that fill them.
#pragma once

#include "schedules/phases.h"

namespace heddle::schedules {

// The request for `operand`: sizes, and the copy as a kernel of two tensors.
Packing make_packing(const Kernel& kernel, const PackedOperand& operand);

}  // namespace heddle::schedules
