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
    if (is_single(x)) {
        const V whole = rounded_even(factor == 1 ? x : x * factor);
        return {whole, to_integer(whole)};
    }
    const V magic = number(x, is_double(x) ? 0x1.8p52 : 0x1.8p23);
    const V shifted = fma(x, factor, magic);
    return {shifted - magic, integer_difference(bits(shifted), bits(magic))};
}

// a + b, exactly.
struct Sum {
    V high, low;
};
inline Sum exact_sum(V a, V b) {
    const V sum = pinned(a + b), other = pinned(sum - a);
    return {sum, (a - (sum - other)) + (b - other)};
}

V log_of(V x);
V exp_of(V x);
// exp(high + low), high in -104 .. 89, low small beside it.
V exp_of_sum(V high, V low);
// x = 2^exponent * (1 + fraction), 1 + fraction between sqrt(1/2) and sqrt(2); x is positive and finite.
struct Split {
    V exponent;  // a float
    V fraction;
};
Split split_exponent(V x);
// What is C's power, of its magnitude where the operands are finite and above zero.
V power_with_ends(V x, V y, V magnitude);

// sin(high + low) for an angle near zero; and of x = quadrant * pi/2 + high + low.
struct Reduced {
    V high, low;
    V quadrant;  // modulo 4 in the low bits
};
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

// Of float32 without float64 (Units::single): single_functions.cpp.
Reduced reduce_angle_single(V x);
V power_single(V x, V y);
V hypot_single(V x, V y);

// Of float64; by Units::single of float32, but the last two.
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
