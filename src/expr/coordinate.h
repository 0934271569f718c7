// Coordinates and scalar operations: from one to the other.
#pragma once

#include "expr/arena.h"

namespace heddle::expr {

// What an operation gives on int64 coordinates (b: null of one operand): a coordinate, or a condition on them. Null
// where it is not quasi-affine. A difference that a comparison is decided by may wrap; a < 0 and a >= 0 are right for
// every a.
Expr coordinate_of(Arena& arena, ScalarOp op, Expr a, Expr b);

// The operation of a scalar, or of a kind that stands for one: with `integer` as second operand of floor_divide and
// modulo, with 0 of negative.
ScalarOp operation_of(const Expression& e);

}  // namespace heddle::expr
