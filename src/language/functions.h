// The functions that the language knows, and how many arguments they take.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct FunctionInfo {
    std::string_view name;
    int least = 1;
    int most = 1;  // -1: any number
};

std::span<const FunctionInfo> all_functions();
const FunctionInfo* function_named(std::string_view name);
std::vector<std::string> function_names();

// float32, int64 ..., and the names that templates may constrain by although no tensor of ours has them yet: bit, ring64,
// ring128, uint128.
bool is_dtype_name(std::string_view name);
std::vector<std::string> dtype_names();

}  // namespace heddle
