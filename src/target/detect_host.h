// What this machine says of itself.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace heddle {

// What the line of this name says of the first processor in /proc/cpuinfo; a blank behind.
std::string of_first_processor(std::string_view name);

// The features that this machine has, if it is of this instruction set: what the CPU says and the operating system lets
// programs use. By LLVM's names; none where nobody says how to ask.
std::set<std::string, std::less<>> detect_features(std::string_view arch);

}  // namespace heddle
