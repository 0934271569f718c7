// Reductions over few points, written out: a chain of the operation that joins terms.
#pragma once

#include <vector>

#include "equations/system.h"

namespace heddle::equations {

inline constexpr int64_t longest_written_axis = 16;

// The next of all points of the axes, the last one's first; false behind the last point.
bool next_point(const Arena& arena, const std::vector<AxisId>& axes, std::vector<int64_t>& point);
// `e` at a point of the axes; elements of constant tensors are numbers there.
Expr at_point(System& system, Expr e, const std::vector<AxisId>& axes, const std::vector<int64_t>& point);
// `so_far` and one term more. A product is rounded with the sum that it is added to, as in a loop.
Expr with_term(Arena& arena, ScalarOp join, Expr so_far, Expr term);
// The terms `right` of a reduction over `reduced`, in the type that it accumulates in and in order; of the term's type.
Expr joined_terms(System& system, Reducer reducer, Expr right, const std::vector<AxisId>& reduced);
// An operand serves points that do not move it, as in contractions; tables are not asked. Axes of few points count not.
bool shares_operand(const System& system, const Equation& equation);

}  // namespace heddle::equations
