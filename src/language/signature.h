// What an operator takes and gives, on one line.
#pragma once

#include <string>

#include "language/template.h"

namespace heddle {

// "softmax(x: $dtype[$outer...{$axis}, $n, $inner...], axis: axis($x) = -1) -> y: $dtype[$x.shape...]"
std::string signature(const Template& metakernel);

// The first sentence of a text.
std::string first_sentence(const std::string& text);

}  // namespace heddle
