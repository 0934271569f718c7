#include "codegen/functions.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <tuple>
#include <utility>

#include "codegen/function_coefficients.h"
#include "codegen/function_parts.h"
#include "codegen/function_tables.h"

namespace heddle::codegen {
namespace functions {
namespace {

constexpr double log2_e = 0x1.71547652b82fep+0;
constexpr double ln2 = 0x1.62e42fefa39efp-1;
// A leading part with trailing zeros, so that its product with an exponent is exact, and the rest.
constexpr double ln2_high_single = 0x1.62ep-1, ln2_low_single = 0x1.0bfbe8p-15;
constexpr double ln2_high_double = 0x1.62e42feep-1, ln2_low_double = 0x1.a39ef35793c76p-33;

int mantissa_bits(V x) { return is_double(x) ? 52 : 23; }
int64_t exponent_bias(V x) { return is_double(x) ? 1023 : 127; }

V power_of_two(V exponent, V like) {
    return from_bits(shift_left(integer_sum(exponent, integer(like, exponent_bias(like))), mantissa_bits(like)));
}
// x * 2^exponent in two steps, so that overflow and subnormal results come out right.
V scale(V x, V exponent) {
    const V half = shift_right_signed(exponent, 1);
    return x * power_of_two(half, x) * power_of_two(integer_difference(exponent, half), x);
}

// exp(r) - 1 = r + r^2 q(r) for |r| <= ln(2) / 2
V exp_minus_one_reduced(V r) {
    const V q = is_double(r) ? polynomial(r, coefficients::exp_double) : polynomial(r, coefficients::exp_single);
    return fma(r * r, q, r);
}
V subtract_ln2_times(V x, V n) {
    const double high = is_double(x) ? ln2_high_double : ln2_high_single;
    const double low = is_double(x) ? ln2_low_double : ln2_low_single;
    return fma(n, -low, pinned(fma(n, -high, x)));
}

// exp(r) 2^n for |r| <= ln(2) / 2
V exp_scaled(V r, Rounded n) {
    if (!has_parts(r)) return scale(1.0 + exp_minus_one_reduced(r), n.integer);
    const V q = is_double(r) ? polynomial(r, coefficients::exp_double) : polynomial(r, coefficients::exp_single);
    return scaled(fma(fma(q, r, number(r, 1)), r, number(r, 1)), n.real);
}

}  // namespace

V exp_of(V x) {
    const V bounded = at_least(at_most(x, is_double(x) ? 710 : 89), is_double(x) ? -746 : -104);
    const Rounded n = round_to_integer(bounded, log2_e);
    return exp_scaled(subtract_ln2_times(bounded, n.real), n);
}

V exp_of_sum(V high, V low) {
    const Rounded n = round_to_integer(high, log2_e);
    return exp_scaled(subtract_ln2_times(high, n.real) + low, n);
}

namespace {

// Zero in place of what is no normal number: a multiply-add of such an operand takes a hundred times as long, and the
// weights of sums are full of them. What comes of an x below is not chosen, so it has no limit there.
V exp_or_zero(V x) {
    const V bounded = at_most(x, is_double(x) ? 710 : 89);
    const Rounded n = round_to_integer(bounded, log2_e);
    const V lowest = number(x, is_double(x) ? -0x1.6232bdd7abcd2p+9 : -0x1.5d589ep+6);
    return select(x < lowest, 0.0, exp_scaled(subtract_ln2_times(bounded, n.real), n));
}

V exp2_of(V x) {
    const V bounded = at_most(x, is_double(x) ? 1025 : 129);
    const Rounded n = round_to_integer(bounded, 1);
    return select(x < (is_double(x) ? -1022 : -126), 0.0, exp_scaled((bounded - n.real) * ln2, n));
}

// 2 (2^(n-1) (e^r - 1) + (2^(n-1) - 1/2)): half the scale, since 2^1024 is out of range.
V expm1_of(V x) {
    const V bounded = at_least(at_most(x, is_double(x) ? 710 : 89), is_double(x) ? -40 : -20);
    const Rounded n = round_to_integer(bounded, log2_e);
    const V term = exp_minus_one_reduced(subtract_ln2_times(bounded, n.real));
    const V half_scale = power_of_two(integer_difference(n.integer, integer(x, 1)), x);
    const V result = 2.0 * fma(half_scale, term, half_scale - 0.5);
    return select(equal(x, 0), x, result);
}

}  // namespace

Split split_exponent(V x) {
    const bool wide = is_double(x);
    const V tiny = x < (wide ? 0x1p-1022 : 0x1p-126);
    const V scaled = select(tiny, x * (wide ? 0x1p54 : 0x1p25), x);
    const V pattern = bits(scaled);
    const V root_half = integer(x, wide ? 0x3fe6a09e667f3bcdLL : 0x3f3504f3LL);
    const V exponent = shift_right_signed(integer_difference(pattern, root_half), mantissa_bits(x));
    const V mantissa = from_bits(integer_difference(pattern, shift_left(exponent, mantissa_bits(x))));
    return {select(tiny, to_float(exponent) - (wide ? 54 : 25), to_float(exponent)), mantissa - 1.0};
}

namespace {

// log(1 + fraction) + exponent * ln2
V log_split(Split s) {
    const V f = s.fraction;
    if (is_double(f)) {
        const V q = f / (2.0 + f);
        const V z = q * q;
        const V half_square = 0.5 * f * f;
        const V rest = z * polynomial(z, coefficients::log_double);
        const V inner = q * (half_square + rest) + s.exponent * ln2_low_double;
        return s.exponent * ln2_high_double - ((half_square - inner) - f);
    }
    const V square = f * f;
    const V cubic = fma(square * f, polynomial(f, coefficients::log_single), s.exponent * ln2_low_single);
    return fma(s.exponent, ln2_high_single, f + fma(square, -0.5, cubic));
}
// What logarithms of all bases give outside of the positive finite numbers.
V log_ends(V x, V result) {
    const V at_zero = select(equal(x, 0), -infinity, select(equal(x, infinity), x, result));
    return select(0.0 <= x, at_zero, not_a_number);
}
// x = 2^exponent m, m = 3/4 .. 3/2, m = (1 + f) / inverse: near 1 the inverse is 1, and nothing is lost. Zero, infinity
// and numbers below zero come out right by what the units make of them.
V log_by_parts(V x, double log_of_base) {
    const V m = significand_of(x), floor = exponent_of(x);
    const V exponent = select(m < 1, floor + 1.0, floor);
    const V cell = shift_right_signed(bits(m), mantissa_bits(x) - 4);
    const V f = fma(m, look_up(tables::log_inverse, cell), number(x, -1));
    const V fraction = fma(f * f, polynomial(f, tables::log_piece), f);
    const V of_cell = look_up(tables::log_of_inverse, cell);
    if (log_of_base == 1) return fma(exponent, ln2, of_cell) + fraction;
    return fma(of_cell + fraction, 1 / log_of_base, exponent);
}

}  // namespace

V log_of(V x) {
    if (has_parts(x) && !is_double(x)) return log_by_parts(x, 1);
    return log_ends(x, log_split(split_exponent(x)));
}

Pair log_pair(V x) {
    const Split s = split_exponent(x);
    const V f = s.fraction;
    const V below = 2.0 + f, below_low = f - (below - 2.0);
    const V inverse = 1.0 / below;
    const V q = f * inverse;
    const V q_low = (fma(from_bits(bits(q) ^ integer(q, sign_bit(q))), below, f) - q * below_low) * inverse;
    const V z = q * q;
    const V z_low = fma(q, q, from_bits(bits(z) ^ integer(z, sign_bit(z)))) + 2.0 * q * q_low;
    // (log((1 + q) / (1 - q)) - 2 q) / q^3 = 2/3 + tail: two thirds as a pair, since the polynomial's own error is too
    // big
    constexpr double third_high = 0x1.5555555555555p-1, third_low = 0x1.5555555555555p-55;
    double tail[std::size(coefficients::log_double) - 1];
    for (size_t i = 0; i < std::size(tail); i++) tail[i] = coefficients::log_double[i + 1];
    const V w = z * third_high;
    const V w_low = fma(z, third_high, 0.0 - w) + (z * third_low + z_low * third_high) + z * z * polynomial(z, tail);
    const V p = q * w;
    const V p_low = fma(q, w, 0.0 - p) + (q * w_low + q_low * w);
    const V h = 2.0 * q + p;
    const V l = (2.0 * q - h) + p + (p_low + 2.0 * q_low);
    const V scaled = s.exponent * ln2_high_double;
    const V high = scaled + h;
    return {high, (h - (high - scaled)) + (l + s.exponent * ln2_low_double)};
}

namespace {

V log2_of(V x) {
    if (has_parts(x) && !is_double(x)) return log_by_parts(x, ln2);
    Split s = split_exponent(x);
    const V exponent = s.exponent;
    s.exponent = number(x, 0);
    return log_ends(x, fma(log_split(s), log2_e, exponent));
}

// log(u) x / (u - 1) with u = 1 + x rounded: its error cancels (Kahan).
V log1p_of(V x) {
    const V u = pinned(1.0 + x);
    const V result = log_of(u) * (x / (u - 1.0));
    return select(equal(u, 1), x, select(equal(x, infinity), x, result));
}

V sigmoid_of(V x) {
    const V e = exp_or_zero(from_bits(bits(x) | integer(x, sign_bit(x))));
    return select(x < 0, e, 1.0) / (1.0 + e);
}

// A function in sixteen pieces: `place` says by its bits 21 .. 24 in which one a lies.
template <size_t n>
V in_pieces(V a, V place, const LookUpTable (&pieces)[n]) {
    const V piece = shift_right_signed(bits(place), 21);
    const V from = a - look_up(pieces[0], piece);
    V sum = look_up(pieces[n - 1], piece);
    for (size_t i = n - 1; i-- > 1;) sum = fma(sum, from, look_up(pieces[i], piece));
    return sum;
}

V tanh_of(V x) {
    const V a = absolute(x);
    if (has_parts(x) && !is_double(x)) {
        const V bounded = at_most(a, 10);
        return with_sign(in_pieces(bounded, bounded + 1.0, tables::tanh_pieces), x);
    }
    if (is_double(x)) {
        const V small = a < 0.55;
        const V t = expm1_of(2.0 * at_most(a, 22));
        const V quotient = select(small, t, 2.0) / (t + 2.0);
        return with_sign(select(small, quotient, 1.0 - quotient), x);
    }
    const V square = x * x;
    const V near = fma(a * square, polynomial(square, coefficients::tanh_single), a);
    const V far = 1.0 - 2.0 / (exp_of(2.0 * at_most(a, 10)) + 1.0);
    return with_sign(select(a < 0.625, near, far), x);
}

V erf_of(V x) {
    if (has_parts(x) && !is_double(x)) {
        const V bounded = at_most(absolute(x), 0x1.fffffep+1);
        return with_sign(in_pieces(bounded, at_least(bounded, 0.25), tables::erf_pieces), x);
    }
    const V a = at_most(absolute(x), is_double(x) ? 6 : 4);
    const V square = a * a;
    V near, log_complement;
    if (is_double(x)) {
        near = a * polynomial(square, coefficients::erf_double);
        log_complement = select(a < 2.5, polynomial(a, coefficients::log_erfc_double_near),
                                polynomial(a, coefficients::log_erfc_double_far));
    } else {
        near = a * polynomial(square, coefficients::erf_single);
        log_complement = polynomial(a, coefficients::log_erfc_single);
    }
    return with_sign(select(a < 0.925, near, 1.0 - exp_of(log_complement)), x);
}

// From 1/2 on exp(-x^2) times a slow function, the square as a pair; below, what erf leaves.
V erfc_of(V x) {
    const V a = at_most(absolute(x), 28);
    const V square = a * a;
    const V rest = fma(a, a, 0.0 - square);
    const V place = (a - 4.0) / (a + 4.0);
    const V slow = polynomial(place, coefficients::scaled_erfc) / (1.0 + 2.0 * a);
    const V tail = exp_of(0.0 - square) * (slow - slow * rest);
    const V near = 1.0 - x * polynomial(square, coefficients::erf_double);
    return select(a < 0.5, near, select(x < 0, 2.0 - tail, tail));
}

// Scaled where squares leave the numbers. An infinity wins over a NaN.
V hypot_of(V x, V y) {
    const V a = absolute(x), b = absolute(y);
    const V large = select(a < b, b, a);
    const V factor = select(0x1p500 < large, 0x1p-600, select(large < 0x1p-500, 0x1p600, number(x, 1)));
    const V back = select(0x1p500 < large, 0x1p600, select(large < 0x1p-500, 0x1p-600, number(x, 1)));
    const V p = a * factor, q = b * factor;
    const V length = square_root(fma(p, p, q * q)) * back;
    return select(equal(a, infinity) | equal(b, infinity), infinity, length);
}

V sinh_of(V x) {
    const V a = absolute(x);
    const V t = expm1_of(at_most(a, 40));
    const V half = exp_of(0.5 * a);
    return with_sign(select(a < 22, 0.5 * (t + t / (t + 1.0)), 0.5 * half * half), x);
}
V cosh_of(V x) {
    const V a = absolute(x);
    const V e = exp_of(at_most(a, 40));
    const V half = exp_of(0.5 * a);
    return select(a < 22, 0.5 * e + 0.5 / e, 0.5 * half * half);
}
V asinh_of(V x) {
    const V a = absolute(x);
    const V square = a * a;
    const V large = 0x1p28 < a;
    const V inside = select(large, a - 1.0, a + square / (1.0 + square_root(square + 1.0)));
    const V result = log1p_of(inside);
    return with_sign(select(large, result + ln2, result), x);
}
V acosh_of(V x) {
    const V t = x - 1.0;
    const V large = 0x1p28 < x;
    const V result = log1p_of(select(large, t, t + square_root(t * (t + 2.0))));
    return select(x < 1, not_a_number, select(large, result + ln2, result));
}
V atanh_of(V x) {
    const V a = absolute(x);
    return with_sign(0.5 * log1p_of(2.0 * a / (1.0 - a)), x);
}

V is_whole(V magnitude) {
    if (is_single(magnitude)) return (0x1p23 <= magnitude) | equal(rounded_even(magnitude), magnitude);
    const V big = 0x1p52 <= magnitude;
    return big | equal((magnitude + 0x1p52) - 0x1p52, magnitude);
}

// exp(y log|x|), then signs and ends as in C. `exact`: the logarithm as a pair, for results in double.
V pow_of(V x, V y, bool exact) {
    const V a = absolute(x);
    Pair log = {log_split(split_exponent(a)), number(x, 0)};
    if (exact) log = log_pair(a);
    const V at_end = equal(a, 0) | equal(a, infinity);
    const V high = select(equal(a, 0), -infinity, select(equal(a, infinity), infinity, log.high));
    const V product = y * high;
    const V remainder = fma(y, high, 0.0 - product) + y * log.low;
    const V bounded = at_least(at_most(product, 800), -800);
    const V low = select(at_end | !(absolute(product) < 800), 0.0, remainder);
    return power_with_ends(x, y, exp_of_sum(bounded, low));
}

}  // namespace

V power_with_ends(V x, V y, V magnitude) {
    const V a = absolute(x);
    const V whole = is_whole(absolute(y));
    const V odd = whole & !is_whole(0.5 * absolute(y));
    const V negative = integer_equal(sign_of(x), integer(x, sign_bit(x)));
    V result = negate_where(negative & odd, magnitude);
    result = select((x < 0) & !whole & (a < infinity), not_a_number, result);
    result = select(is_nan(x) | is_nan(y), x + y, result);
    const V unit = equal(y, 0) | equal(x, 1) | (equal(a, 1) & equal(absolute(y), infinity));
    return select(unit, 1.0, result);
}

namespace {

V rounded_pow(V x, V y) {
    if (is_single(x)) return power_single(x, y);
    return is_double(x) ? pow_of(x, y, true) : narrow(pow_of(widen(x), widen(y), false));
}
V rounded_atan2(V y, V x) {
    return is_double(x) || is_single(x) ? atan2_of(y, x) : narrow(atan2_of(widen(y), widen(x)));
}
// Of float32 in float64, and rounded once.
template <V (*function)(V)>
V in_double(V x) {
    return is_double(x) || is_single(x) ? function(x) : narrow(function(widen(x)));
}

// Newton's steps from the estimate, which stays for zeros, infinities and NaNs.
V rsqrt_of(V x) {
    if (!has_parts(x)) return 1.0 / square_root(x);
    V y = reciprocal_root_estimate(x);
    for (int step = 0; step < (is_double(x) ? 2 : 1); step++) {
        const V error = fma(x * y, y * -0.5, number(x, 0.5));
        y = select(is_nan(error), y, fma(y, error, y));
    }
    return y;
}

V rounded_hypot(V x, V y) {
    if (is_single(x)) return hypot_single(x, y);
    return is_double(x) ? hypot_of(x, y) : narrow(hypot_of(widen(x), widen(y)));
}

struct Row {
    ScalarOp op;
    V (*unary)(V) = nullptr;
    V (*binary)(V, V) = nullptr;
};
constexpr Row table[] = {
    {ScalarOp::sqrt, [](V x) { return square_root(x); }},
    {ScalarOp::rsqrt, rsqrt_of},
    {ScalarOp::reciprocal, [](V x) { return 1.0 / x; }},
    {ScalarOp::exp, exp_or_zero},
    {ScalarOp::exp2, exp2_of},
    {ScalarOp::expm1, expm1_of},
    {ScalarOp::log, log_of},
    {ScalarOp::log2, log2_of},
    {ScalarOp::log1p, log1p_of},
    {ScalarOp::tanh, tanh_of},
    {ScalarOp::erf, erf_of},
    {ScalarOp::erfc, in_double<erfc_of>},
    {ScalarOp::sigmoid, sigmoid_of},
    {ScalarOp::log_gamma, in_double<log_gamma_of>},
    {ScalarOp::digamma, in_double<digamma_of>},
    {ScalarOp::sin, in_double<sin_of>},
    {ScalarOp::cos, in_double<cos_of>},
    {ScalarOp::tan, in_double<tan_of>},
    {ScalarOp::asin, in_double<asin_of>},
    {ScalarOp::acos, in_double<acos_of>},
    {ScalarOp::atan, in_double<atan_of>},
    {ScalarOp::sinh, in_double<sinh_of>},
    {ScalarOp::cosh, in_double<cosh_of>},
    {ScalarOp::asinh, in_double<asinh_of>},
    {ScalarOp::acosh, in_double<acosh_of>},
    {ScalarOp::atanh, in_double<atanh_of>},
    {ScalarOp::power, nullptr, rounded_pow},
    {ScalarOp::atan2, nullptr, rounded_atan2},
    {ScalarOp::hypotenuse, nullptr, rounded_hypot},
    {ScalarOp::copy_sign, nullptr, [](V x, V y) { return with_sign(absolute(x), y); }},
};

Recipe write(const Row& row, StepType type, Units units) {
    Builder builder{.recipe = {}, .units = units, .operation = info(row.op).name};
    const V x = builder.push(Primitive::argument, type, {}, 0);
    V result;
    if (row.unary) {
        result = row.unary(x);
    } else {
        builder.recipe.arguments = 2;
        result = row.binary(x, builder.push(Primitive::argument, type, {}, 1));
    }
    builder.recipe.result = result.step;
    return builder.recipe;
}

bool is_same(const Step& a, const Step& b) {
    const auto parts = [](const Step& s) {
        return std::tuple(s.primitive, s.type, s.integer, std::bit_cast<uint64_t>(s.real), s.operands[0], s.operands[1],
                          s.operands[2]);
    };
    return parts(a) == parts(b);
}
// What begins as an earlier recipe does, up to its rare steps, has these by its name: sine, cosine and tangent have one
// function for far angles.
void share_rare_steps(Recipe& made, const Recipe& earlier) {
    for (RareSteps& rare : made.rare) {
        for (const RareSteps& known : earlier.rare) {
            if (known.first != rare.first || known.last != rare.last || known.selections != rare.selections) continue;
            const auto begin = made.steps.begin(), end = begin + static_cast<ptrdiff_t>(rare.last + rare.selections);
            if (std::equal(begin, end, earlier.steps.begin(), is_same)) rare.name = known.name;
        }
    }
}

using Recipes = std::array<Recipe, scalar_op_count>;
Recipes write_all(StepType type, Units units) {
    Recipes all;
    for (const Row& row : table) {
        // Their series have terms that only float64 holds.
        if (units == Units::single && (row.op == ScalarOp::log_gamma || row.op == ScalarOp::digamma)) continue;
        Recipe made = write(row, type, units);
        for (const Recipe& earlier : all) share_rare_steps(made, earlier);
        all[static_cast<size_t>(row.op)] = std::move(made);
    }
    return all;
}

}  // namespace
}  // namespace functions

const Recipe* recipe(ScalarOp op, DType type, Units units) {
    static const auto recipes = [] {
        std::array<std::array<functions::Recipes, 2>, 3> all;
        for (Units units : {Units::plain, Units::parts_of_floats}) {
            all[static_cast<size_t>(units)] = {functions::write_all(StepType::float32, units),
                                               functions::write_all(StepType::float64, units)};
        }
        all[static_cast<size_t>(Units::single)][0] = functions::write_all(StepType::float32, Units::single);
        return all;
    }();
    if (type != DType::float32 && type != DType::float64) return nullptr;
    const Recipe& found = recipes[static_cast<size_t>(units)][type == DType::float64 ? 1 : 0][static_cast<size_t>(op)];
    return found.result >= 0 ? &found : nullptr;
}

}  // namespace heddle::codegen
