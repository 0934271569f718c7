// Codes of the floating types that are only stored (halves, 8-bit floats), by their formats.
#pragma once

#include <cstdint>

#include "support/dtype.h"

namespace heddle {

// Exact. The code is in the low bits.
float float_from_code(DType dtype, uint32_t code);

// To the nearest, of two the even one. Beyond the greatest finite value: infinity, or NaN where the type has none. A
// NaN stays one; zero keeps its sign where the type has a negative zero.
uint32_t code_from_float(DType dtype, float value);
// The same, rounded once.
uint32_t code_from_real(DType dtype, double value);

// The value that is stored for `value`.
inline float stored_as(DType dtype, double value) { return float_from_code(dtype, code_from_real(dtype, value)); }

// What narrower types round as they would the integer itself: between two doubles lies the one whose last bit is odd.
double odd_double(int64_t value);
double odd_double(uint64_t value);

// The value of any floating type that is nearest to `value`.
inline double rounded_to(DType dtype, double value) {
    if (dtype == DType::float64) return value;
    return dtype == DType::float32 ? static_cast<float>(value) : stored_as(dtype, value);
}

}  // namespace heddle
