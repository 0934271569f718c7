// The operators and functions of static expressions, on values: docs/language.md section 3. Total and bounded. The body
// builder uses them on the static parts of a body.
//
// Codes: symbolic.type, symbolic.overflow, symbolic.division_by_zero, symbolic.inexact_division, symbolic.length,
// symbolic.range, symbolic.not_given, symbolic.limit, symbolic.user_error, symbolic.unknown_function,
// symbolic.arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "support/diagnostic.h"
#include "symbolic/static_value.h"

namespace heddle {

// What is left of the steps of one application. Every element that an operation touches is a step.
struct EvaluationBudget {
    int64_t steps = largest_evaluation;
    bool spend(int64_t count) { return (steps -= count) >= 0; }
};

// An operator as the syntax tree spells it: "-" and "!"; "^ * / // % + - == != < <= > >= && ||". Lists are elementwise,
// but for == and != of two lists. `place` is what a diagnostic points at.
Result<StaticValue> static_unary(std::string_view spelled, const StaticValue& operand, const Place& place,
                                 EvaluationBudget& budget);
Result<StaticValue> static_binary(std::string_view spelled, const StaticValue& left, const StaticValue& right,
                                  const Place& place, EvaluationBudget& budget);

// base[index] with an integer or a list of integers (which picks); a negative index counts from the end.
Result<StaticValue> static_element(const StaticValue& base, const StaticValue& index, const Place& place,
                                   EvaluationBudget& budget);
// base[from:to], half open, of a list or a text; none for a bound left out. Bounds beyond the ends are the ends.
Result<StaticValue> static_slice(const StaticValue& base, const StaticValue& from, const StaticValue& to,
                                 const Place& place, EvaluationBudget& budget);

// A function of section 3 by its name (not `has`, not a user's function).
Result<StaticValue> static_function(std::string_view name, std::span<const StaticValue> arguments, const Place& place,
                                    EvaluationBudget& budget);
bool is_static_function(std::string_view name);

// NumPy's rule for two extents; nothing if they do not fit. An extent of plain 1 yields to the other's origin.
std::optional<Size> broadcast_sizes(const Size& a, const Size& b);

}  // namespace heddle
