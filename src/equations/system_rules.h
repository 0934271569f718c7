// What is neutral to a reduction: what lowering, the parser and the verifier of systems ask.
#pragma once

#include "expr/expression.h"
#include "expr/scalar_op.h"
#include "support/dtype.h"

namespace heddle::equations {

// What a term must be to change nothing: a literal.
Expr neutral(Arena& arena, Reducer reducer, DType dtype);

}  // namespace heddle::equations
