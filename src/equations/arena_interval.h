// Intervals of int64 expressions. Exact where they are known; INT64_MIN and INT64_MAX stand for "not known".
#pragma once

#include <cstdint>

#include "equations/expression.h"

namespace heddle::equations {

struct Interval {
    int64_t low = INT64_MIN, high = INT64_MAX;
    bool known_low() const { return low != INT64_MIN; }
    bool known_high() const { return high != INT64_MAX; }
    bool known() const { return known_low() && known_high(); }
    bool within(int64_t first, int64_t last) const { return known() && low >= first && high <= last; }
};

inline Interval interval(Expr expression) { return {expression->low, expression->high}; }

// The values of an integer type of at most 32 bits, or bool; of others nothing is known.
Interval interval_of_type(DType dtype);

// Of an expression from its operands' intervals. A sum that may leave int64 is not known at either end: it would wrap.
Interval interval_of(const Expression& expression, const Arena& arena);

}  // namespace heddle::equations
