// The text form of systems; docs/equations.md has its grammar. Equal texts mean equal systems.
#pragma once

#include <string>
#include <string_view>

namespace heddle::equations {

inline constexpr int64_t printed_constant_limit = 64;

bool is_reserved_word(std::string_view name);
std::string quoted(std::string_view name);  // as it stands in a text

}  // namespace heddle::equations
