// Functions of float32 where there is no float64 (Units::single), and where a multiply-add may be rounded twice.
#include "codegen/function_parts.h"

namespace heddle::codegen::functions {
namespace {

// The leading half of the significand: products of two such are exact.
V leading(V x) { return from_bits(bits(x) & integer(x, ~int64_t{0xfff})); }

// a * b, exactly, by halves of both (Dekker).
Sum exact_product(V a, V b) {
    const V product = pinned(a * b), ah = leading(a), bh = leading(b), al = a - ah, bl = b - bh;
    return {product, ((ah * bh - product) + ah * bl + al * bh) + al * bl};
}

// log(x) of a positive finite x as a sum, to about 2^-31 of its size. With q = f / (2 + f) it is 2 q + 2/3 q^3 + ...,
// of which the second is a hundredth of the first.
Sum log_sum(V x) {
    constexpr double ln2_high = 0x1.62ep-1, ln2_low = 0x1.0bfbe8e7bcd5ep-15;  // an exponent times the first is exact
    constexpr double series[] = {2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11};
    const Split s = split_exponent(x);
    const V f = s.fraction;
    const V below = pinned(2.0 + f), below_low = f - (below - 2.0);
    const V q = f / below;
    const Sum whole = exact_product(q, below);
    const V q_low = ((f - whole.high) - whole.low - q * below_low) / below;
    const V square = q * q;
    const V tail = 2.0 * q_low + q * square * polynomial(square, series);
    const Sum sum = exact_sum(s.exponent * ln2_high, 2.0 * q);
    const V low = sum.low + (s.exponent * ln2_low + tail);
    return exact_sum(sum.high, low);
}

}  // namespace

// Cody and Waite: eleven bits of pi/2 at a time, so that products with the quadrant, of 13 bits, are exact, and so are
// the differences but for the last ones.
Reduced reduce_angle_single(V x) {
    constexpr double two_over_pi = 0x1.45f306dc9c883p-1;
    constexpr double parts[] = {0x1.92p+0, 0x1.fb4p-12, 0x1.444p-24, 0x1.68cp-39, 0x1.1a6264p-54};
    const V bounded = select(absolute(x) <= single_angle, x, not_a_number);
    const Rounded n = round_to_integer(bounded, two_over_pi);
    const V near = pinned(pinned(bounded - n.real * parts[0]) - n.real * parts[1]);
    const V third = n.real * parts[2];
    const V high = pinned(near - third);
    const V low = (((near - high) - third) - n.real * parts[3]) - n.real * parts[4];
    return {high, low, n.integer};
}

V power_single(V x, V y) {
    const V a = absolute(x);
    const Sum log = log_sum(a);
    const V at_end = equal(a, 0) | equal(a, infinity);
    const V high = select(equal(a, 0), -infinity, select(equal(a, infinity), infinity, log.high));
    const Sum product = exact_product(y, high);
    const V low = product.low + y * log.low;
    const V bounded = at_least(at_most(product.high, 89), -104);
    const V small = select(at_end | !(absolute(product.high) < 104), 0.0, low);
    return power_with_ends(x, y, exp_of_sum(bounded, small));
}

// Scaled where squares leave the numbers. An infinity wins over a NaN.
V hypot_single(V x, V y) {
    const V a = absolute(x), b = absolute(y);
    const V large = select(a < b, b, a);
    const V factor = select(0x1p60 < large, 0x1p-80, select(large < 0x1p-40, 0x1p80, number(x, 1)));
    const V back = select(0x1p60 < large, 0x1p80, select(large < 0x1p-40, 0x1p-80, number(x, 1)));
    const V p = a * factor, q = b * factor;
    const V length = square_root(p * p + q * q) * back;
    return select(equal(a, infinity) | equal(b, infinity), infinity, length);
}

}  // namespace heddle::codegen::functions
