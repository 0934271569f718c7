// What is neutral to a reduction: what lowering, the parser and the verifier of systems ask.
#pragma once

#include "expr/arena.h"

namespace heddle::equations {

using namespace expr;

// What a term must be to change nothing: a literal.
Expr neutral(Arena& arena, Reducer reducer, DType dtype);

}  // namespace heddle::equations
