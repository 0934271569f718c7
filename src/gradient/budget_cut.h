// Which values to keep in so many bytes, such that the least work is done again.
#pragma once

#include <optional>

#include "gradient/save_cut.h"

namespace heddle::gradient {

// As cheapest_to_keep(), but `keep` counts bytes, of which there are at most `budget`, and `again` counts work, of
// which what is chosen has the least. Nothing if no choice is of so few bytes.
//
// With a price for bytes this is a minimum cut, which reaches only some of the choices: where two values of equal worth
// do not fit both, none of them is in any cut. So the cut at the best price is a bound and a beginning; behind it are
// branches, a value kept or not, until no branch can be better (Lagrangean relaxation: Geoffrion, 1974). The problem
// contains that of the knapsack, so they have a limit: all cuts together look at about `effort` values. Behind it, what
// saves most a byte of what still fits is added to the best.
inline constexpr int64_t effort_within_budget = 400'000;  // a tenth of a second
std::optional<std::vector<bool>> cheapest_within(const std::vector<CutValue>& values, int64_t budget,
                                                 int64_t effort = effort_within_budget);

}  // namespace heddle::gradient
