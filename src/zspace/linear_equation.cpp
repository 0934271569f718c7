#include "zspace/linear_equation.h"

#include <cstdlib>
#include <numeric>

namespace heddle {
namespace {

// x with a x == 1 modulo m, for a and m without a common divisor; 0 <= x < m.
int64_t inverse_modulo(int64_t a, int64_t m) {
    int64_t r = floor_modulo(a, m), next = m, x = 1, y = 0;
    while (next != 0) {
        const int64_t quotient = r / next;
        r = std::exchange(next, r - quotient * next);
        x = std::exchange(y, x - quotient * y);
    }
    return floor_modulo(x, m);
}

}  // namespace

LinearSolution solution_for(int64_t factor, int64_t period) {
    if (period == 0) return {std::abs(factor), factor < 0 ? -1 : 1, 0};
    const int64_t common = std::gcd(factor, period), step = period / common;
    return {common, inverse_modulo(factor / common, step), step};
}

}  // namespace heddle
