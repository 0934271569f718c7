// Recipes (functions.h) spelled in the operations of code.h.
#pragma once

#include <span>

#include "codegen/code.h"
#include "codegen/functions.h"

namespace heddle::codegen {

// What the recipe makes of arguments of one width. Rare steps are a function of the kernel, called in a branch.
CodeValue run(Code& code, const Recipe& recipe, std::span<const CodeValue> arguments);

}  // namespace heddle::codegen
