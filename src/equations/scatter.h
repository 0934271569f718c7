// Scatters: reductions filtered by equalities of their own axes with data. Turned round, each term goes once to the
// element that its data choose. They are ordinary equations and mean what they say; this is how costs and kernels look
// at them.
// Rules: docs/equations.md, "Scatters".
#pragma once

#include <optional>
#include <vector>

#include "equations/system.h"

namespace heddle::equations {

struct Scatter {
    std::vector<Expr> at;        // a coordinate each dimension of the left side; null: as on the left
    std::vector<AxisId> chosen;  // axes that data choose: none of the expressions here holds one
    Expr condition = nullptr;    // what else the filter asks for
    Expr term = nullptr;

    bool chooses(AxisId axis) const;
};

// What the conditions say of where `term` goes; nothing if no axis of `left` is chosen. Data choose, and where `step`
// is an axis, coordinates of it alone.
std::optional<Scatter> scatter_where(const System& system, const std::vector<Expr>& left,
                                     const std::vector<Expr>& conditions, Expr term, AxisId step = no_id);

// Nothing where the equation is no such reduction. The filter's neutral side and the reducer say that what no term
// chooses is neutral; argmax and argmin number their terms, and are none.
std::optional<Scatter> scatter_of(const System& system, const Equation& equation);

// A step of a state that keeps all elements but those at places that do not depend on them,
// `p == a ? x : p == b ? y : s[t, p]`: the changes, the first that holds comes first. None where it is something else,
// or where a place reads the state.
std::vector<Scatter> changes_of(const System& system, const Equation& equation);
// Whether no change's term reads the state: then they may be made one after the other, in place.
bool are_apart(const std::vector<Scatter>& changes, TensorIndex state);

// A pointwise equation that only joins a scatter's result to what was there: its elements start at `initial`, and the
// terms are joined to them, or (no reducer) take their place, in order: `y = x + sum(..)`, and `last < 0 ? x : u[last]`
// where `last` is the largest number of a term.
struct ScatterInto {
    int32_t scatter = -1;         // the equation whose result is joined; nothing else reads it. -1: none
    std::vector<AxisId> reduced;  // of the terms, in order
    Expr initial = nullptr;       // over the reader's axes
    std::optional<ScalarOp> join;
    Scatter update;  // over the reader's other axes and the scatter's reduced ones; `at` is of the reader's left side
};
std::optional<ScatterInto> scatter_into(const System& system, const Equation& reader);

// A pointwise equation that puts a block somewhere into what was there, `0 <= i - p < M ? a[i - p] : initial`, as the
// block's points: worth it only where `initial` is there already. The reduced axis is a new one.
std::optional<ScatterInto> block_into(const System& system, const Equation& equation);

}  // namespace heddle::equations
