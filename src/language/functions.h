// The functions that the language knows: one table, from which the checks of a file take names and numbers of
// arguments, and the evaluator what happens to lists (symbolic/functions.cpp has a rule for each of them).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// What a function makes of arguments that are lists.
enum class ListArguments : uint8_t {
    each,    // works element by element; lists have one length, other values stand beside each element
    whole,   // takes lists as they are
    joined,  // joins the elements of its one list, or several arguments
};

struct FunctionInfo {
    std::string_view name;
    int least = 1;
    int most = 1;  // -1: any number
    ListArguments lists = ListArguments::each;
    std::string_view example;    // a call, which means the same wherever an expression may stand
    std::string_view form = "";  // how a call looks, where the names of the arguments say more than a, b, c
    bool of_elements = false;  // it gives an element of a dtype, and has no meaning where there are static values only
};

std::span<const FunctionInfo> all_functions();
const FunctionInfo* function_named(std::string_view name);
std::vector<std::string> function_names();

// float32, int64 ..., and the names that templates may constrain by although no tensor of ours has them yet: bit,
// ring64, ring128, uint128.
bool is_dtype_name(std::string_view name);
std::vector<std::string> dtype_names();

}  // namespace heddle
