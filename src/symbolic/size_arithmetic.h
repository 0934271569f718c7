// Arithmetic on sizes with overflow as nothing, and origins kept as simple as the numbers allow: products are divided
// by their own factors, and equal terms cancel.
#pragma once

#include <optional>

#include "zspace/size.h"

namespace heddle {

std::optional<Size> sum_of_sizes(const Size& a, const Size& b);
std::optional<Size> difference_of_sizes(const Size& a, const Size& b);
std::optional<Size> product_of_sizes(const Size& a, const Size& b);
// Floors; the divisor is not zero.
std::optional<Size> quotient_of_sizes(const Size& a, const Size& b);
std::optional<Size> remainder_of_sizes(const Size& a, const Size& b);

}  // namespace heddle
