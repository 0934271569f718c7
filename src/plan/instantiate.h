// A plan for other sizes than those that it was made for: the same launches with other numbers. No search, and no compiler.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace heddle::plan {

using Names = std::map<std::string, int64_t>;

// The plan's names for inputs of these shapes and for `given` ones, others as they are, or as `amend` makes them then; nothing
// where the shapes do not fit together, or where what the plan follows from does not hold for them.
std::optional<Names> names_for(const Plan& plan, const std::vector<std::vector<int64_t>>& input_shapes,
                               const Names& given = {}, const std::function<void(Names&)>& amend = {});

// Gives all sizes of the plan, which was made without `keep_all`, the numbers that they have for these names, of which
// names_for has said that they fit, and places its memory. False, and nothing is changed, where one is beyond 64 bits.
bool instantiate(Plan& plan, const Names& names);

}  // namespace heddle::plan
