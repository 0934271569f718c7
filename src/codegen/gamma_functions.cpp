// The logarithm of the gamma function, and its derivative.
#include "codegen/function_coefficients.h"
#include "codegen/function_parts.h"

namespace heddle::codegen::functions {

// For y = |x|: by the polynomial around 2, which y is brought near to by factors, and from 6.5 on by Stirling's series.
// Below zero gamma(x) gamma(-x) = -pi / (x sin(pi x)).
V log_gamma_of(V x) {
    const V y = absolute(x);
    const V tiny = y < 0.5, low = y < 1.5, far = 6.5 <= y;
    V factors = number(x, 1), near = y - 2.0;
    for (int k = 1; k <= 4; k++) {
        const V more = k + 1.5 <= y;
        factors = select(more, factors * (y - k), factors);
        near = select(more, y - (k + 2.0), near);
    }
    factors = select(low, select(tiny, y * (y + 1.0), y), factors);
    near = select(low, select(tiny, y, y - 1.0), near);
    const Pair log = log_pair(select(far, y, factors));
    constexpr double slope = 0.42278433509846714;  // the first term of the polynomial, whose product is a pair
    const V line = near * slope;
    const V curve = near * near * polynomial(near, coefficients::log_gamma);
    const Sum sum = exact_sum(negate_where(low, log.high), line);
    const V line_low = fma(near, slope, 0.0 - line) + negate_where(low, log.low);
    const V middle = sum.high + (sum.low + (line_low + curve));

    constexpr double half_log_two_pi = 0.91893853320467274;
    const V half_below = y - 0.5, inverse = 1.0 / y;
    const V main = half_below * (log.high - 1.0);
    const V rest = fma(half_below, log.high - 1.0, 0.0 - main) + half_below * log.low;
    const V series =
        fma(inverse, polynomial(inverse * inverse, coefficients::log_gamma_far), number(x, half_log_two_pi - 0.5));
    const V stirling = select(equal(main, infinity), main, main + (rest + series));
    const V above = select(equal(y, 0) | equal(y, infinity), infinity, select(far, stirling, middle));

    const V is_below = x < 0;
    const size_t before = x.builder->recipe.steps.size();
    const HalfTurn turn = half_turn(y);
    const V product = select(tiny, turn.sine / (1.0 + y), y * turn.sine);
    const V reflected = (1.1447298858494002 - log_of(product)) - select(tiny, line + curve, above);
    const V at_pole = select(equal(turn.distance, 0), infinity, reflected);
    const V below = select(y < 0x1p-60, above, at_pole);
    return x.builder->rare("below_zero", is_below, before, {{below, above}})[0];
}

// The derivative of log_gamma: near its root above zero a multiple of the distance from it, elsewhere by the sum of
// 1 / (y - k) and by a series. Below zero digamma(-y) = digamma(1 + y) + pi / tan(pi y).
V digamma_of(V x) {
    constexpr double root_high = 0x1.762d86356be3fp+0, root_low = 0x1.b86a722197829p-54;
    const V y = absolute(x);
    const V low = y < 1, far = 6.25 <= y;
    V up = number(x, 0), down = number(x, 1), near = y;  // up / down is the sum
    for (int k = 1; k <= 4; k++) {
        const V more = k + 1.25 <= y, factor = y - k;
        up = select(more, fma(up, factor, down), up);
        down = select(more, down * factor, down);
        near = select(more, factor, near);
    }
    const V from_root = select(low, y - (root_high - 1), near - root_high) - root_low;
    near = select(low, y + 1.0, near);
    const V polynomial_part = from_root * polynomial(near - 1.625, coefficients::digamma);
    const V inverse = 1.0 / y;
    const V middle = polynomial_part + select(low, 0.0 - inverse, up / down);
    const V square = inverse * inverse;
    const V series = log_of(y) - fma(square, polynomial(square, coefficients::digamma_far), 0.5 * inverse);
    const V above = select(far, series, middle);

    const V is_below = x < 0;
    const size_t before = x.builder->recipe.steps.size();
    const HalfTurn turn = half_turn(y);
    const V cotangent = negate_where(turn.distance < 0, 2 * half_pi_0 * turn.cosine / turn.sine);
    const V reflected = select(low, polynomial_part, above + inverse) + cotangent;
    const V at_pole = select(equal(turn.distance, 0), not_a_number, reflected);
    const V below = select(y < 0x1p-60, inverse, at_pole);
    const V either = x.builder->rare("below_zero", is_below, before, {{below, above}})[0];
    return select(equal(x, 0), -1.0 / x, either);
}

}  // namespace heddle::codegen::functions
