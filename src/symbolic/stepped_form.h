// Values with one quotient in them, coefficient * floor(base / divisor) + rest: what `x - x % 4`, `x / 4 * 4 + x % 4`
// and the like are. Intervals of their parts forget that both come from one x.
#pragma once

#include <optional>

#include "expr/expression.h"
#include "expr/scalar_linear.h"
#include "zspace/linear_form.h"

namespace heddle {

struct SteppedForm {
    LinearForm<expr::VariableId> rest;
    Size coefficient = 0;  // 0: the form is the rest alone
    LinearForm<expr::VariableId> base;
    Size divisor = 1;  // > 0
};

// floor(form / divisor), and what that leaves of the form.
SteppedForm quotient_form(const LinearForm<expr::VariableId>& form, const Size& divisor);
SteppedForm remainder_of(const SteppedForm& quotient);

// Of a sum, a difference, or a multiple. Nothing if two different quotients are in it, or on overflow.
std::optional<SteppedForm> stepped_form_of(ScalarOp op, const SteppedForm& a, const SteppedForm& b);

// With range_of(form), the interval of a linear form.
template <typename RangeOf>
Interval interval_of(const SteppedForm& form, RangeOf range_of) {
    const Interval base = range_of(form.base), divisor = Interval::point(form.divisor);
    const Interval quotient = floor_divide(base, divisor), remainder = floor_modulo(base, divisor);
    Interval values = range_of(form.rest) + Interval::point(form.coefficient) * quotient;
    // base = divisor * quotient + remainder: a multiple of the base that is in the rest goes with the quotient.
    for (const auto& [variable, factor] : form.base.terms) {
        const Size held = form.rest.coefficient(variable);
        if (held.same_as(0) || held.number() == INT64_MIN || !divides(factor, held)) continue;
        const Size multiple = floor_divide(held, factor);
        const auto rest = linear_sum(form.rest, form.base, -multiple);
        const auto scaled = checked_multiply(multiple, form.divisor);
        const auto coefficient = scaled ? checked_add(*scaled, form.coefficient) : std::nullopt;
        if (!rest || !coefficient) continue;
        values = intersection(values, range_of(*rest) + Interval::point(multiple) * remainder +
                                          Interval::point(*coefficient) * quotient);
    }
    return values;
}

}  // namespace heddle
