// What the scalar operations mean: the element rules of docs/language.md, "Bodies", one function object an operation.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>

namespace heddle::scalar_functions {

template <typename T>
concept Floating = std::floating_point<T>;
template <typename T>
concept Integral = std::integral<T>;  // int64_t, or uint64_t for uint64

template <typename Meaning, typename T>
concept UnaryOf = requires(T a) { Meaning::apply(a); };
template <typename Meaning, typename T>
concept BinaryOf = requires(T a, T b) { Meaning::apply(a, b); };
template <typename Meaning, typename T>
concept TernaryOf = requires(T a, T b, T c) { Meaning::apply(a, b, c); };

// Integers wrap: computed without sign.
struct Add {
    template <Floating T>
    static T apply(T a, T b) {
        return a + b;
    }
    template <Integral T>
    static T apply(T a, T b) {
        return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    }
};
struct Subtract {
    template <Floating T>
    static T apply(T a, T b) {
        return a - b;
    }
    template <Integral T>
    static T apply(T a, T b) {
        return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
    }
};
struct Multiply {
    template <Floating T>
    static T apply(T a, T b) {
        return a * b;
    }
    template <Integral T>
    static T apply(T a, T b) {
        return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    }
};
struct MultiplyAdd {
    template <Floating T>
    static T apply(T a, T b, T c) {
        return std::fma(a, b, c);
    }
};
struct Divide {
    template <Floating T>
    static T apply(T a, T b) {
        return a / b;
    }
};
struct TruncateDivide {
    template <Integral T>
    static T apply(T a, T b) {
        if (b == 0) return 0;
        if constexpr (std::signed_integral<T>) {
            if (b == -1) return Subtract::apply<T>(0, a);
        }
        return a / b;
    }
};
struct TruncateRemainder {
    template <Floating T>
    static T apply(T a, T b) {
        return std::fmod(a, b);
    }
    template <Integral T>
    static T apply(T a, T b) {
        if (b == 0) return 0;
        if constexpr (std::signed_integral<T>) {
            if (b == -1) return 0;
        }
        return a % b;
    }
};
// Of the sign of the divisor, as Python's %.
struct Modulo {
    template <Floating T>
    static T apply(T a, T b) {
        T rest = std::fmod(a, b);
        if (rest == 0) return std::copysign(T(0), b);
        return (rest < 0) != (b < 0) ? rest + b : rest;
    }
    template <Integral T>
    static T apply(T a, T b) {
        T rest = TruncateRemainder::apply(a, b);
        if constexpr (std::signed_integral<T>) {
            if (rest != 0 && (rest < 0) != (b < 0)) return rest + b;
        }
        return rest;
    }
};
struct FloorDivide {
    // The rounded quotient's floor: what generated code computes, and not always Python's //. As there no number for an
    // infinity, of which % has no rest either.
    template <Floating T>
    static T apply(T a, T b) {
        return std::floor(a / b) - (a - a);
    }
    template <Integral T>
    static T apply(T a, T b) {
        T quotient = TruncateDivide::apply(a, b);
        if constexpr (std::signed_integral<T>) {
            T rest = TruncateRemainder::apply(a, b);
            if (rest != 0 && (rest < 0) != (b < 0)) return quotient - 1;
        }
        return quotient;
    }
};
// A NaN wins; the first wins ties.
struct Minimum {
    template <Floating T>
    static T apply(T a, T b) {
        return (a <= b) | (a != a) ? a : b;
    }
    template <Integral T>
    static T apply(T a, T b) {
        return b < a ? b : a;
    }
};
struct Maximum {
    template <Floating T>
    static T apply(T a, T b) {
        return (a >= b) | (a != a) ? a : b;
    }
    template <Integral T>
    static T apply(T a, T b) {
        return b > a ? b : a;
    }
};
struct Power {
    template <Floating T>
    static T apply(T a, T b) {
        return std::pow(a, b);
    }
    // Wraps. A negative exponent is a division by zero for 0 and truncates to zero for all but 1 and -1.
    template <Integral T>
    static T apply(T a, T b) {
        if constexpr (std::signed_integral<T>) {
            if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 != 0 ? -1 : 1) : 0;
        }
        uint64_t result = 1, base = static_cast<uint64_t>(a);
        for (uint64_t exponent = static_cast<uint64_t>(b); exponent != 0; exponent >>= 1, base *= base) {
            if (exponent & 1) result *= base;
        }
        return static_cast<T>(result);
    }
};
struct Atan2 {
    template <Floating T>
    static T apply(T a, T b) {
        return std::atan2(a, b);
    }
};
struct Hypotenuse {
    template <Floating T>
    static T apply(T a, T b) {
        return std::hypot(a, b);
    }
};
struct CopySign {
    template <Floating T>
    static T apply(T a, T b) {
        return std::copysign(a, b);
    }
};
struct CountBits {
    template <Integral T>
    static T apply(T a) {
        return static_cast<T>(std::popcount(static_cast<uint64_t>(a)));
    }
};
struct BitLength {
    template <Integral T>
    static T apply(T a) {
        return static_cast<T>(std::bit_width(static_cast<uint64_t>(a)));
    }
};
// Of 32 bits.
struct DotPairs {
    template <Integral T>
    static T apply(T a, T b) {
        const auto product = [](uint64_t x, uint64_t y) {
            return int64_t{static_cast<int16_t>(x)} * int64_t{static_cast<int16_t>(y)};
        };
        const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
        return static_cast<T>(static_cast<int32_t>(product(x, y) + product(x >> 16, y >> 16)));
    }
};
struct BitAnd {
    template <Integral T>
    static T apply(T a, T b) {
        return a & b;
    }
};
struct BitOr {
    template <Integral T>
    static T apply(T a, T b) {
        return a | b;
    }
};
struct BitXor {
    template <Integral T>
    static T apply(T a, T b) {
        return a ^ b;
    }
};
// The amount counts as unsigned; by the width or more, nothing of the value is left but its sign.
struct ShiftLeft {
    template <Integral T>
    static T apply(T a, T b) {
        auto amount = static_cast<uint64_t>(b);
        return amount > 63 ? T(0) : static_cast<T>(static_cast<uint64_t>(a) << amount);
    }
};
struct ShiftRight {
    template <Integral T>
    static T apply(T a, T b) {
        auto amount = static_cast<uint64_t>(b);
        if (amount > 63) return a < 0 ? static_cast<T>(-1) : T(0);
        return a >> amount;
    }
};
struct Equal {
    template <typename T>
    static bool apply(T a, T b) {
        return a == b;
    }
};
struct NotEqual {
    template <typename T>
    static bool apply(T a, T b) {
        return a != b;
    }
};
struct Less {
    template <typename T>
    static bool apply(T a, T b) {
        return a < b;
    }
};
struct LessEqual {
    template <typename T>
    static bool apply(T a, T b) {
        return a <= b;
    }
};
struct Greater {
    template <typename T>
    static bool apply(T a, T b) {
        return a > b;
    }
};
struct GreaterEqual {
    template <typename T>
    static bool apply(T a, T b) {
        return a >= b;
    }
};

struct Negate {
    template <Floating T>
    static T apply(T a) {
        return -a;
    }
    template <Integral T>
    static T apply(T a) {
        return Subtract::apply<T>(0, a);
    }
};
struct Absolute {
    template <Floating T>
    static T apply(T a) {
        return std::fabs(a);
    }
    template <Integral T>
    static T apply(T a) {
        return a < 0 ? Negate::apply(a) : a;
    }
};
// Zero for either zero; NaN stays.
struct Sign {
    template <Floating T>
    static T apply(T a) {
        return a != a ? a : T(a > 0) - T(a < 0);
    }
    template <Integral T>
    static T apply(T a) {
        return static_cast<T>((a > 0) - (a < 0));
    }
};
struct LogicalNot {
    template <Integral T>
    static T apply(T a) {
        return a == 0;
    }
};
struct BitNot {
    template <Integral T>
    static T apply(T a) {
        return ~a;
    }
};

// Without overflow on either side.
template <Floating T>
T logistic(T x) {
    T power = std::exp(-std::fabs(x));
    return (x < 0 ? power : T(1)) / (1 + power);
}

// C's lgamma, but several threads may ask: it leaves the sign in a variable of its caller's.
template <Floating T>
T log_gamma(T x) {
    int sign;
    return static_cast<T>(::lgammal_r(x, &sign));
}

// Its derivative, right also near the root r above zero: psi(x) = psi(x) - psi(r), the sum of
// 1 / (r + k) - 1 / (x + k), of which the terms behind the first twenty are the difference of two asymptotic series.
template <Floating T>
T psi(T given) {
    const long double x = given, pi = 3.14159265358979323846264338327950288L;
    if (x == 0) return static_cast<T>(-1 / x);
    if (x < 0) {
        if (x == std::floor(x)) return std::numeric_limits<T>::quiet_NaN();
        const long double turn = x - std::nearbyint(x);
        return static_cast<T>(psi(1 - x) - pi / std::tan(pi * turn));
    }
    if (std::isinf(x)) return given;
    constexpr int terms = 20;
    constexpr long double root_high = 0x1.762d86356be3fp+0L, root_low = 0x1.b86a722197829p-54L;
    const long double distance = (x - root_high) - root_low, root = root_high + root_low;
    long double sum = 0;
    for (int k = terms; k-- > 0;) sum += 1 / ((x + k) * (root + k));
    const long double a = x + terms, b = root + terms;
    sum += 1 / (2 * a * b);
    long double result = distance * sum + std::log1p(distance / b);
    // Bernoulli numbers of index 2 k over 2 k.
    constexpr long double series[] = {1 / 12.0L,  -1 / 120.0L,     1 / 252.0L, -1 / 240.0L,
                                      1 / 132.0L, -691 / 32760.0L, 1 / 12.0L};
    long double power_a = 1, power_b = 1;
    for (long double factor : series) {
        power_a /= a * a;
        power_b /= b * b;
        result -= factor * (power_a - power_b);
    }
    return static_cast<T>(result);
}

#define HEDDLE_SCALAR(...)
#define HEDDLE_FUNCTION(op, name, cost, size, ulps, value, carry, interval, first) \
    struct of_##op {                                                               \
        template <Floating T>                                                      \
        static T apply(T x) {                                                      \
            return value;                                                          \
        }                                                                          \
    };
#include "expr/scalar_ops.def"

struct IsNan {
    template <Floating T>
    static bool apply(T a) {
        return a != a;
    }
};
struct IsInfinite {
    template <Floating T>
    static bool apply(T a) {
        return std::fabs(a) == std::numeric_limits<T>::infinity();
    }
};

// Parts of complex numbers: these are taken apart before anything computes.
struct OfPairs {};

}  // namespace heddle::scalar_functions
