// Coordinates made by scalar operations, in an arena.
#pragma once

#include "expr/arena.h"

namespace heddle::expr {

// What an operation gives on int64 coordinates (b: null of one operand): a coordinate, or a condition on them. Null where
// it is not quasi-affine. A difference that a comparison is decided by may wrap; a < 0 and a >= 0 are right for every a.
Expr coordinate_of(Arena& arena, ScalarOp op, Expr a, Expr b);

}  // namespace heddle::expr
