// What a template names and never uses: inputs, parameters, lets. It may be meant, or left over.
#pragma once

#include "language/template.h"

namespace heddle {

// Remarks, no errors: code language.unused. Of operators without a body nothing is said.
Diagnostics unused_names(const Template& metakernel);

}  // namespace heddle
