// Linear forms through scalar operations: the one rule of them, for whatever reads the linear form of an expression.
#pragma once

#include <optional>

#include "expr/scalar_op.h"
#include "zspace/linear_form.h"

namespace heddle {

// The linear form of an operation on int64 values, whose operands have the forms a and, if there are two, b. Nothing if
// it has none, or one whose numbers overflow.
template <typename Atom>
std::optional<LinearForm<Atom>> linear_form_of(ScalarOp op, const LinearForm<Atom>& a, const LinearForm<Atom>& b) {
    switch (op) {
    case ScalarOp::add: return linear_sum(a, b, 1);
    case ScalarOp::subtract: return linear_sum(a, b, -1);
    case ScalarOp::negate: return linear_sum({}, a, -1);
    case ScalarOp::multiply:
        if (b.terms.empty()) return linear_sum({}, a, b.constant);
        if (a.terms.empty()) return linear_sum({}, b, a.constant);
        return std::nullopt;
    default: return std::nullopt;
    }
}

}  // namespace heddle
