// How buffers of the workspace lie above one another. Of two that live at one time, one lies above the other, for all sizes:
// this is chosen once, and addresses follow from it for any sizes, without a search.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace heddle::plan {

inline constexpr int64_t most_buffer_bytes = int64_t{1} << 46;  // sums of many are far from where they overflow

// What a buffer takes of the workspace: whole lines, with slack behind, so that a kernel may read a whole vector past its end.
int64_t room(int64_t bytes);
Size room(const Buffer& buffer);

// Chooses the stack from lifetimes and sizes: of those that the names' class representatives and ends ask for, what is lowest,
// and no higher at the representatives than largest first, each at the lowest free place.
void choose_stack(Plan& plan);

// Where the buffers of a stack begin, in its order, when they take so many bytes; and its height.
struct Places {
    std::vector<int64_t> begin;
    int64_t height = 0;
};
Places places(std::span<const Stacked> stack, std::span<const int64_t> rooms);  // rooms: by buffer
Places places(const Plan& plan);                                                // for its present sizes

// What is wrong with the stack, for whatever sizes: a buffer that it has not, or two that live at one time and of which neither
// lies above the other. Nothing of this asks for a size; so it holds for all.
struct StackProblem {
    std::string what;
    int32_t buffer = -1;
};
std::optional<StackProblem> problem_of_stack(const Plan& plan);

// The bytes of the workspace over the names, where the plan's sizes have their classes: the greatest of these, none of which
// another one is never below. Nothing where there are more than `most`, or one is beyond what expressions hold.
std::optional<std::vector<Size>> workspace_expressions(const Plan& plan, size_t most);
inline constexpr size_t most_printed_sums = 12;  // of a plan's text
// For people: "max(384 * n + 64, ...)", or nothing where it is no short expression of names.
std::string workspace_text(const Plan& plan);

}  // namespace heddle::plan
