// What a step of a scan takes into a state, if it does no more.
#pragma once

#include <functional>
#include <optional>

#include "schedules/kernel.h"

namespace heddle::schedules {

// state = combine(state, term), by the reducer.
struct RunningTerm {
    Reducer reducer = Reducer::sum;
    Expr term = nullptr;
};

// Of a state's next value, in which it occurs only as what `is_state` says. `s + a - b`, `max(a, s)` and
// `c ? s + a : s` are such, in any depth of one operation.
std::optional<RunningTerm> running_term(Arena& arena, Expr next, TensorIndex state,
                                        const std::function<bool(Expr)>& is_state);

}  // namespace heddle::schedules
