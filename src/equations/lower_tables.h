// Coordinates and weights that depend on axes only and are not integer quasi-affine (an interpolation's) are tabulated:
// a constant read takes their place.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "equations/system.h"

namespace heddle::equations {

class TableMaker {
public:
    explicit TableMaker(System& system) : system_(system) {}

    // `right` with tables for its greatest subexpressions that read nothing, compute more than a cast, and depend on at
    // most one axis of `axes` besides any number of `reduced` ones.
    Expr tabulate(Expr right, const std::vector<AxisId>& axes);
    // The same coordinate as a sum with a zero that is read, so that it is checked when it runs: one that data decide,
    // which is known to leave its tensor.
    Expr checked(Expr coordinate);

private:
    std::vector<Expr> variables_of(Expr e) const;
    bool wanted(Expr e, const std::vector<AxisId>& axes) const;
    Expr table_read(Expr e);

    System& system_;
    std::map<Expr, bool> plain_, data_;
    std::map<Expr, Expr> made_;
    std::map<std::string, TensorIndex> tables_;  // by type, shape and bytes
};

}  // namespace heddle::equations
