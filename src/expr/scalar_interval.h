// Between which ends the results of scalar operations lie, by the column `interval` of their table.
#pragma once

#include <cmath>

#include "expr/scalar_op.h"
#include "zspace/interval.h"

namespace heddle {

// The values of an integer type of at most 32 bits, or bool; of others nothing is known.
Interval interval_of(DType dtype);

// Whether numbers in this interval are the type's own, so that none of them wraps.
bool holds(DType dtype, const Interval& values);

// Of an operation on integers or bools (0 and 1), none of the operands empty; `b` is left alone where there is one.
// Exact integers: where the result leaves its own type it wraps, and nothing is known of it.
Interval interval_of(ScalarOp op, const Interval& a, const Interval& b = Interval::point(0));

// Floats, none of them NaN. Not known: the ends are NaN.
struct RealInterval {
    double low = NAN, high = NAN;
    bool known() const { return !std::isnan(low) && !std::isnan(high); }
};
// Of an operation on float64, as our own code computes it. Nothing is known where an operand is not or where the result
// may be NaN.
RealInterval interval_of(ScalarOp op, RealInterval a, RealInterval b = {0, 0});
// Of a comparison of such numbers, 0 and 1.
Interval interval_of_comparison(ScalarOp op, RealInterval a, RealInterval b);

}  // namespace heddle
