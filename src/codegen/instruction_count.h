// How much code a tree is, for any backend: the figure that schedules are held to, since the time to compile a kernel
// is nearly proportional to it (docs/schedules.md, "The size of code").
#pragma once

#include "codegen/code.h"

namespace heddle::codegen {

// Instructions that the walk over a verified tree asks for, vector ones counted as one. What is equal to an earlier
// value of the same block, or of a block around it, counts once; constants, variables and comments count nothing.
int64_t instruction_count(const Tree& tree);

}  // namespace heddle::codegen
