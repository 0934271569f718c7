// Sine, cosine and tangent, and their inverses.
#include <algorithm>
#include <cmath>
#include <vector>

#include "codegen/function_coefficients.h"
#include "codegen/function_parts.h"

namespace heddle::codegen::functions {
namespace {

constexpr double two_over_pi = 0x1.45f306dc9c883p-1;

// |high| <= pi/4; Cody and Waite with fused products: the first is exact.
Reduced reduce_near_angle(V x) {
    const V bounded = select(absolute(x) <= 0x1p50, x, not_a_number);
    const Rounded n = round_to_integer(bounded, two_over_pi);
    const V first = fma(n.real, -half_pi_0, bounded);
    const V high = fma(n.real, -half_pi_1, first);
    const V low = fma(n.real, -half_pi_2, fma(n.real, -half_pi_1, first - high));
    return {high, low, n.integer};
}

// x without its multiples of 2^unit, for |x| < 2^(unit + 51): exact, and at most half of that in magnitude.
V without_multiples(V x, int unit) {
    const V magic = number(x, std::ldexp(1.5, 52 + unit));
    return x - ((x + magic) - magic);
}

// For |x| > 2^50 (Payne and Hanek): x times those five digits of 2/pi that do not only make multiples of 4 of it, as a
// sum that is exact to 2^-118: x / (pi/2) comes no nearer to an integer than 2^-62.
Reduced reduce_far_angle(V x) {
    std::vector<V> digits;
    for (double digit : coefficients::two_over_pi_digits) digits.push_back(number(x, digit));
    // Takes off as many digits as x has lots of 53 bits beyond the first.
    for (size_t lots : {16, 8, 4, 2, 1}) {
        const int bits = 53 * static_cast<int>(lots);
        const V larger = std::ldexp(2.0, bits) <= absolute(x);
        x = select(larger, x * std::ldexp(1.0, -bits), x);
        const size_t kept = std::min(digits.size() - lots, lots + 4);  // four more than what may still be taken off
        for (size_t i = 0; i < kept; i++) digits[i] = select(larger, digits[i + lots], digits[i]);
        digits.resize(std::min(digits.size(), lots + 4));
    }
    V product[5], error[5];
    for (int i = 0; i < 5; i++) {
        const V scaled = x * std::ldexp(1.0, 53 * (1 - i));
        product[i] = scaled * digits[static_cast<size_t>(i)];
        error[i] = fma(scaled, digits[static_cast<size_t>(i)], 0.0 - product[i]);
    }
    // Magnitudes: product 2^107, 2^54, 2, 2^-52, 2^-105, errors 2^53 below them. Multiples of 4 do not count.
    const Sum first =
        exact_sum(without_multiples(without_multiples(product[0], 56), 5), without_multiples(error[0], 5));
    const Sum second = exact_sum(first.high, without_multiples(product[1], 5));
    const Rounded whole = round_to_integer(second.high, 1);
    const Sum third = exact_sum(second.high - whole.real, product[2]);
    const Sum fourth = exact_sum(third.high, error[1]);
    const Rounded rest = round_to_integer(fourth.high, 1);
    Sum fraction = exact_sum(fourth.high - rest.real, first.low);
    V least = product[4] + error[3];
    V low = fraction.low;
    for (V term : {second.low, third.low, fourth.low, product[3], error[2]}) {
        fraction = exact_sum(fraction.high, term);
        const Sum more = exact_sum(low, fraction.low);
        low = more.high;
        least = least + more.low;
    }
    const Sum turned = exact_sum(fraction.high, low);
    const V tail = turned.low + least;
    const V high = turned.high * half_pi_0;
    const V below = fma(turned.high, half_pi_0, 0.0 - high) + (turned.high * half_pi_1 + tail * half_pi_0);
    const Sum angle = exact_sum(high, below);
    return {angle.high, angle.low, integer_sum(whole.integer, rest.integer)};
}

Reduced reduce_angle(V x) {
    if (is_single(x)) return reduce_angle_single(x);
    const Reduced near = reduce_near_angle(x);
    const V is_far = 0x1p50 < absolute(x);
    const size_t before = x.builder->recipe.steps.size();
    const Reduced far = reduce_far_angle(x);
    const std::vector<V> reduced = x.builder->rare(
        "far_angle", is_far, before, {{far.high, near.high}, {far.low, near.low}, {far.quadrant, near.quadrant}});
    return {reduced[0], reduced[1], reduced[2]};
}
V sine_reduced(const Reduced& r) {
    const V z = r.high * r.high;
    const V cubic = r.high * z * polynomial(z, coefficients::sine);
    return r.high + fma(r.low, 1.0 - 0.5 * z, cubic);
}
V cosine_reduced(const Reduced& r) {
    const V z = r.high * r.high;
    const V half = 0.5 * z;
    const V top = 1.0 - half;
    return top + (((1.0 - top) - half) + (z * z * polynomial(z, coefficients::cosine) - r.high * r.low));
}
V quadrant_has(V quadrant, V like, int64_t bit) {
    return integer_equal(quadrant & integer(like, bit), integer(like, bit));
}
V sine_of_quadrant(const Reduced& r, V quadrant) {
    const V odd = quadrant_has(quadrant, r.high, 1);
    return negate_where(quadrant_has(quadrant, r.high, 2), select(odd, cosine_reduced(r), sine_reduced(r)));
}

// atan(up / down) for up, down >= 0 (Cephes' three ranges).
V arctangent_of_quotient(V up, V down) {
    const V large = 2.414213562373095 * down < up;
    const V middle = 0.4142135623730950 * down < up;
    const V top = select(large, from_bits(bits(down) ^ integer(down, sign_bit(down))), select(middle, up - down, up));
    const V bottom = select(large, up, select(middle, up + down, down));
    const V a = top / bottom;
    const V square = a * a;
    const V high = select(large, half_pi_0, select(middle, half_pi_0 / 2, number(a, 0)));
    const V low = select(large, half_pi_1, select(middle, half_pi_1 / 2, number(a, 0)));
    return high + (a + fma(a * square, polynomial(square, coefficients::arctangent), low));
}

// For a <= 1/2: a + a z P(z), z = a^2. For a > 1/2: asin(a) = pi/2 - 2 asin(s), s = sqrt((1 - a) / 2).
struct Arcsine {
    V large;       // a > 1/2
    V root;        // s or a
    V correction;  // root z P(z)
};
Arcsine arcsine_parts(V x) {
    const V a = absolute(x);
    const V large = 0.5 < a;
    const V z = select(large, 0.5 - 0.5 * a, a * a);
    const V root = select(large, square_root(z), a);
    return {large, root, root * (z * polynomial(z, coefficients::arcsine))};
}

}  // namespace

V sin_of(V x) {
    const Reduced r = reduce_angle(x);
    return select(equal(x, 0), x, sine_of_quadrant(r, r.quadrant));
}
V cos_of(V x) {
    const Reduced r = reduce_angle(x);
    return sine_of_quadrant(r, integer_sum(r.quadrant, integer(x, 1)));
}
V tan_of(V x) {
    const Reduced r = reduce_angle(x);
    const V odd = quadrant_has(r.quadrant, x, 1);
    const V s = sine_reduced(r), c = cosine_reduced(r);
    return select(equal(x, 0), x, negate_where(odd, select(odd, c, s) / select(odd, s, c)));
}

V atan_of(V x) { return with_sign(arctangent_of_quotient(absolute(x), number(x, 1)), x); }

V atan2_of(V y, V x) {
    const bool single = is_single(x);
    const double most = single ? 0x1p120 : 0x1p1000, least = single ? 0x1p-90 : 0x1p-900;
    const V huge = (most < absolute(x)) | (most < absolute(y));
    const V factor =
        select(huge, single ? 0x1p-10 : 0x1p-100,
               select((absolute(x) < least) & (absolute(y) < least), single ? 0x1p60 : 0x1p120, number(x, 1)));
    const V both_infinite = equal(absolute(x), infinity) & equal(absolute(y), infinity);
    const V both_zero = equal(x, 0) & equal(y, 0);
    const V up = select(both_infinite, 1.0, absolute(y) * factor);
    const V down = select(both_infinite | both_zero, 1.0, absolute(x) * factor);
    const V angle = arctangent_of_quotient(up, down);
    const V negative = integer_equal(sign_of(x), integer(x, sign_bit(x)));
    const V result = select(negative, 2 * half_pi_0 - (angle - 2 * half_pi_1), angle);
    return select(is_nan(x) | is_nan(y), x + y, with_sign(result, y));
}

V asin_of(V x) {
    const Arcsine p = arcsine_parts(x);
    const V far = half_pi_0 - (2.0 * (p.root + p.correction) - half_pi_1);
    return with_sign(select(p.large, far, p.root + p.correction), x);
}
V acos_of(V x) {
    const Arcsine p = arcsine_parts(x);
    const V positive = p.root + p.correction;
    const V near = half_pi_0 - (with_sign(positive, x) - half_pi_1);
    const V doubled = 2.0 * positive;
    return select(p.large, select(x < 0, 2 * half_pi_0 - (doubled - 2 * half_pi_1), doubled), near);
}

HalfTurn half_turn(V x) {
    const V distance = select(0x1p52 <= x, 0.0, x - ((x + 0x1p52) - 0x1p52));
    const V f = absolute(distance), swapped = 0.25 < f;
    const V turn = select(swapped, 0.5 - f, f), angle = turn * (2 * half_pi_0);
    const V low = fma(turn, 2 * half_pi_0, 0.0 - angle) + turn * (2 * half_pi_1);
    const Reduced r{angle, low, integer(x, 0)};
    const V s = sine_reduced(r), c = cosine_reduced(r);
    return {distance, select(swapped, c, s), select(swapped, s, c)};
}

}  // namespace heddle::codegen::functions
