// Coordinates and weights that depend on axes only and are not integer quasi-affine (an interpolation's) are tabulated:
// a read of a constant takes their place, or of a tensor that is computed first, where they follow named sizes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "equations/system.h"

namespace heddle::equations {

// Cosines and sines of a sum that may become several ones (lower_turns.h).
enum class Turns : uint8_t { kept, tabulated };

class TableMaker {
public:
    explicit TableMaker(System& system) : system_(system) {}

    // `right` with tables for its greatest subexpressions that read nothing, compute more than a cast, and depend on at
    // most one axis of `axes` besides any number of `reduced` ones.
    Expr tabulate(Expr right, const std::vector<AxisId>& axes, Turns turns = Turns::kept);
    bool keeps_turns() const { return keeps_turns_; }  // any so far
    Expr table(Expr e);  // of an expression of axes alone and no named sizes; a literal, if there are none
    // The same coordinate as a sum with a zero that is read, so that it is checked when it runs: one that data decide,
    // which is known to leave its tensor.
    Expr checked(Expr coordinate);

private:
    bool is_kept_turn(Expr e, const std::vector<AxisId>& axes) const;
    std::vector<Expr> variables_of(Expr e) const;
    bool wanted(Expr e, const std::vector<AxisId>& axes) const;
    Expr table_read(Expr e);
    // What fills the table of `e` over these of its parts.
    Equation table_equation(Expr e, const std::vector<Expr>& variables);
    TensorIndex constant_table(Expr e, const Equation& equation);
    TensorIndex computed_table(Expr e, Equation equation);

    System& system_;
    bool keeps_turns_ = false;
    std::map<Expr, bool> plain_, data_;
    std::map<Expr, Expr> made_;
    std::map<std::string, TensorIndex> tables_;  // by type, shape and bytes
};

}  // namespace heddle::equations
