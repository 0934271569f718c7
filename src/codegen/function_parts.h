// What the files that write recipes share: parts of functions, and the functions that have a file of their own. For
// functions.cpp and *_functions.cpp alone.
#pragma once

#include <limits>

#include "codegen/function_builder.h"

namespace heddle::codegen::functions {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
// pi/2 as a sum of three doubles.
inline constexpr double half_pi_0 = 0x1.921fb54442d18p+0, half_pi_1 = 0x1.1a62633145c06p-54,
                        half_pi_2 = 0x1.c1cd129024e08p-107;

// Adding 1.5 * 2^mantissa_bits rounds to an integer, which then stands in the low bits. |x| < 2^(mantissa_bits - 1).
struct Rounded {
    V real;  // as a float
    V integer;
};
inline Rounded round_to_integer(V x, double factor) {
    const V magic = number(x, is_double(x) ? 0x1.8p52 : 0x1.8p23);
    const V shifted = fma(x, factor, magic);
    return {shifted - magic, integer_difference(bits(shifted), bits(magic))};
}

// a + b, exactly.
struct Sum {
    V high, low;
};
inline Sum exact_sum(V a, V b) {
    const V sum = a + b, other = sum - a;
    return {sum, (a - (sum - other)) + (b - other)};
}

V log_of(V x);
// log(x) of a positive finite x as a sum of two doubles, to about 2^-65 of its size.
struct Pair {
    V high, low;
};
Pair log_pair(V x);

// Of x >= 0 the distance to the nearest integer, in turns of half a circle: sin(pi f) and cos(pi f) for
// f = |x - integer| <= 1/2.
struct HalfTurn {
    V distance;  // x - integer, exact
    V sine, cosine;
};
HalfTurn half_turn(V x);

// Of float64.
V sin_of(V x);
V cos_of(V x);
V tan_of(V x);
V asin_of(V x);
V acos_of(V x);
V atan_of(V x);
V atan2_of(V y, V x);
V log_gamma_of(V x);
V digamma_of(V x);

}  // namespace heddle::codegen::functions
