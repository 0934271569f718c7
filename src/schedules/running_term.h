// What a step of a scan takes into a state, if it does no more.
#pragma once

#include <functional>
#include <optional>

#include "schedules/kernel.h"

namespace heddle::schedules {

// state = combine(part of the state, term), by the reducer. The part is all of it; or, where `factor` is a bool, all of
// it or nothing; else, of sums, the state times `factor`. Floats only have a factor that is a number: what is
// multiplied together then stays in range.
struct RunningTerm {
    Reducer reducer = Reducer::sum;
    Expr term = nullptr;
    Expr factor = nullptr;
};

// Of a state's next value, in which it occurs only as what `is_state` says. `s + a - b`, `max(a, s)`, `c ? s + a : s`
// and `c ? a : s * b` are such, in any depth of one operation, and `0.9 * s + a`, linear in any way.
std::optional<RunningTerm> running_term(Arena& arena, Expr next, TensorIndex state,
                                        const std::function<bool(Expr)>& is_state);

}  // namespace heddle::schedules
