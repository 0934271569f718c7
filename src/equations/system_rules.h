// Which element types operations take, and what is neutral: what lowering, the parser and the verifier of systems ask.
#pragma once

#include "equations/expression.h"
#include "graph/scalar_op.h"
#include "support/dtype.h"

namespace heddle::equations {

bool accepts(ScalarOp op, DType operand);
bool accepts(Reducer reducer, DType term);
// What a term must be to change nothing: a literal.
Expr neutral(Arena& arena, Reducer reducer, DType dtype);

}  // namespace heddle::equations
