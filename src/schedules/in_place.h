// Whether an output of a kernel may lie where an input lies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedules/tree.h"

namespace heddle::schedules {

// What of a verified launch rules out that the output has the memory of the input; nothing if it may. An independent
// check: all tasks together write an element at most once, and the input is read only at the point, by the nest and
// before the statement that writes the element there, whatever the order of tasks, loops and lanes. The launch's own
// extents and strides count.
std::optional<std::string> overwrites_early(const Tree& tree, const std::vector<Size>& numbers, MemoryId input,
                                            MemoryId output);

}  // namespace heddle::schedules
