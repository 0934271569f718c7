// Error bounds of single operations: how far a result computed in the node's own type may lie from the exact one, given
// how far the operands may. The rules are those of docs/equality.md: the operands' bounds through the function, plus
// the operation's own rounding, u |r| with u from its stated accuracy. An infinite bound means "anything passes".
#pragma once

#include <limits>

#include "graph/graph.h"

namespace heddle::evaluation {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

// The bound carried through the function, without its own rounding. a, b: operands; ea, eb: their bounds; r: the
// result.
using Carry = double (*)(double a, double ea, double b, double eb, double r);
Carry carry_of(ScalarOp op, bool floating);

// The relative rounding of one operation: u_f. Zero where nothing is rounded.
double rounding_of(ScalarOp op, DType dtype);
// The unit roundoff of a float type: half a unit in the last place.
double unit_roundoff(DType dtype);

// carry + u |r|, with the special cases: exactly representable results of exact operands, NaN, infinities, overflow and
// subnormal results of `dtype`.
double with_rounding(double carried, double u, double r, DType dtype, bool exact_operands, bool special_operand);

// `carry_of` and `with_rounding` for lanes of doubles; b and eb are null for one operand, c and ec for two. The bound of c is
// added to what is carried.
struct BoundLanes {
    const double *a, *ea, *b, *eb, *c, *ec, *r;
    double* result;
    int64_t count;
};
void bound_lanes(ScalarOp op, DType of, DType dtype, const BoundLanes& lanes);

// Of a sum or product that takes a term into a scan's state, whose steps may be taken together in another order: the
// bound of the state `a`, the term `b` and the result `r`, given that of this order.
double bound_together(ScalarOp op, DType dtype, double in_order, double a, double ea, double b, double eb, double r);

// From a bound on a float to a bound on what a monotone step function makes of it.
double step_bound(double (*function)(double), double a, double ea);

}  // namespace heddle::evaluation
