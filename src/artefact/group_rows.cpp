#include "artefact/group_rows.h"

#include <algorithm>

namespace heddle::artefact {

GroupRows::GroupRows(const Group& group) : group_(group) {
    // The dimensions are the program's first places, in their order.
    const auto names = static_cast<int32_t>(group.steps.names().size());
    for (int32_t d = 0; d < names; d++) place_of_[d] = d;
    for (const SizeProgram::Step& step : group.steps.steps())
        place_of_.emplace(step.to, static_cast<int32_t>(place_of_.size()));
}

int32_t GroupRows::place(int32_t of_steps) {
    const auto value = group_.steps.constant_at(of_steps);
    if (!value) return place_of_.at(of_steps);
    const auto [known, is_new] = constant_of_.try_emplace(*value, static_cast<int32_t>(constants_.size()));
    if (is_new) constants_.push_back(*value);
    return -1 - known->second;
}

int32_t GroupRows::steps_before(int32_t of_steps) const {
    if (group_.steps.constant_at(of_steps)) return 0;
    return std::max(0, place_of_.at(of_steps) + 1 - static_cast<int32_t>(group_.steps.names().size()));
}

int32_t GroupRows::numbers_at(const std::vector<int32_t>& of_steps) {
    const auto [known, is_new] = known_.try_emplace(of_steps, 0);
    if (!is_new) return known->second;
    const auto is_constant = [&](int32_t place) { return group_.steps.constant_at(place).has_value(); };
    if (std::ranges::all_of(of_steps, is_constant)) {
        known->second = -1 - static_cast<int32_t>(constants_.size());
        for (int32_t of : of_steps) constants_.push_back(*group_.steps.constant_at(of));
    } else {
        known->second = static_cast<int32_t>(numbers_.size());
        for (int32_t of : of_steps) numbers_.push_back(place(of));
    }
    return known->second;
}

}  // namespace heddle::artefact
