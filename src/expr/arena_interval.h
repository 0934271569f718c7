// Intervals of int64 expressions.
#pragma once

#include "expr/arena.h"
#include "zspace/interval.h"

namespace heddle::expr {

inline Interval interval(Expr expression) { return {expression->low, expression->high}; }

// Of an expression from its operands' intervals.
Interval interval_of(const Interned& expression);

}  // namespace heddle::expr
