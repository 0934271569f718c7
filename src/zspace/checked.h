// Exact integer arithmetic: overflow is a value, never a wrap.
#pragma once

#include <cstdint>
#include <optional>

namespace heddle {

inline std::optional<int64_t> checked_add(int64_t a, int64_t b) {
    int64_t r;
    return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional<int64_t>(r);
}
inline std::optional<int64_t> checked_subtract(int64_t a, int64_t b) {
    int64_t r;
    return __builtin_sub_overflow(a, b, &r) ? std::nullopt : std::optional<int64_t>(r);
}
inline std::optional<int64_t> checked_multiply(int64_t a, int64_t b) {
    int64_t r;
    return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional<int64_t>(r);
}

// Floors, as Python's // and % do; the divisor must not be zero, and INT64_MIN / -1 is the caller's to exclude.
inline int64_t floor_divide(int64_t a, int64_t b) {
    int64_t quotient = a / b;
    return quotient - ((a % b != 0) && ((a < 0) != (b < 0)));
}
inline int64_t floor_modulo(int64_t a, int64_t b) { return a - floor_divide(a, b) * b; }
inline int64_t ceil_divide(int64_t a, int64_t b) { return -floor_divide(-a, b); }

}  // namespace heddle
