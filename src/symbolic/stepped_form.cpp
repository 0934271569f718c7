#include "symbolic/stepped_form.h"

namespace heddle {

SteppedForm quotient_form(const LinearForm<expr::VariableId>& form, const Size& divisor) {
    SteppedForm made{.coefficient = 1, .divisor = divisor};
    // Terms that the divisor divides come out.
    made.rest.constant = floor_divide(form.constant, divisor);
    made.base.constant = floor_modulo(form.constant, divisor);
    for (const auto& [variable, coefficient] : form.terms) {
        if (divides(divisor, coefficient))
            made.rest.terms.emplace_back(variable, floor_divide(coefficient, divisor));
        else
            made.base.terms.emplace_back(variable, coefficient);
    }
    return made;
}

SteppedForm remainder_of(const SteppedForm& quotient) {
    return SteppedForm{quotient.base, -quotient.divisor, quotient.base, quotient.divisor};
}

std::optional<SteppedForm> stepped_form_of(ScalarOp op, const SteppedForm& a, const SteppedForm& b) {
    const bool one = a.coefficient == 0 || b.coefficient == 0 || (a.divisor == b.divisor && a.base == b.base);
    if (!one) return std::nullopt;
    std::optional<Size> coefficient;
    switch (op) {
    case ScalarOp::add: coefficient = checked_add(a.coefficient, b.coefficient); break;
    case ScalarOp::subtract: coefficient = checked_subtract(a.coefficient, b.coefficient); break;
    case ScalarOp::multiply:
        if (b.coefficient == 0 && b.rest.terms.empty())
            coefficient = checked_multiply(a.coefficient, b.rest.constant);
        else if (a.coefficient == 0 && a.rest.terms.empty())
            coefficient = checked_multiply(b.coefficient, a.rest.constant);
        break;
    default: break;
    }
    const auto rest = coefficient ? linear_form_of(op, a.rest, b.rest) : std::nullopt;
    if (!rest) return std::nullopt;
    const SteppedForm& with_base = a.coefficient != 0 ? a : b;
    return SteppedForm{*rest, *coefficient, with_base.base, with_base.divisor};
}

}  // namespace heddle
