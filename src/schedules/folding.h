// Coordinates and conditions of which all axes are known: folded to what they are.
#pragma once

#include <optional>
#include <vector>

#include "schedules/kernel.h"

namespace heddle::schedules {

std::optional<bool> truth_of(Expr e);
bool is_logic(Expr e);  // `not`, `and`, `or`
// What is decided in logic by operands that are.
Expr folded_logic(Arena& arena, Expr e, const std::vector<Expr>& operands);
// A selection between what may have become constants. `a || b` of bools is one: `a ? true : b`.
Expr folded_choice(Arena& arena, Expr e, std::vector<Expr> operands);
// `e` over operands that may have become constants, and quotients and remainders of sums that all but a constant of
// which the divisor divides.
Expr folded(Arena& arena, Expr e, std::vector<Expr> operands);

}  // namespace heddle::schedules
