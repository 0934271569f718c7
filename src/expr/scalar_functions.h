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
