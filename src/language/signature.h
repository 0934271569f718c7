// What an operator takes and gives, on one line.
#pragma once

#include <string>

#include "language/template.h"

namespace heddle {

// "softmax(x: $dtype[$outer...{$axis}, $n, $inner...], axis: axis($x) = -1) -> y: $dtype[$x.shape...]"
std::string signature(const Template& metakernel);

// What it does: the first sentence of its description, or its body where it has none and that is one statement.
std::string summary(const Template& metakernel);

}  // namespace heddle
