#include "language/functions.h"

#include <algorithm>
#include <array>

#include "support/dtype.h"

namespace heddle {
namespace {

constexpr std::array table = {
    // Lists and numbers.
    FunctionInfo{"has", 1, 1},
    FunctionInfo{"len", 1, 1},
    FunctionInfo{"sum", 1, 1},
    FunctionInfo{"prod", 1, 1},
    FunctionInfo{"min", 1, -1},
    FunctionInfo{"max", 1, -1},
    FunctionInfo{"all", 1, 1},
    FunctionInfo{"any", 1, 1},
    FunctionInfo{"abs"},
    FunctionInfo{"clamp", 3, 3},
    FunctionInfo{"floor"},
    FunctionInfo{"ceil"},
    FunctionInfo{"round"},
    FunctionInfo{"trunc"},
    FunctionInfo{"sqrt"},
    FunctionInfo{"exp"},
    FunctionInfo{"log"},
    FunctionInfo{"float", 1, 1},
    FunctionInfo{"ceildiv", 2, 2},
    FunctionInfo{"where", 3, 3},
    FunctionInfo{"contains", 2, 2},
    FunctionInfo{"position", 2, 2},
    FunctionInfo{"unique", 1, 1},
    FunctionInfo{"sort", 1, 1},
    FunctionInfo{"reverse", 1, 1},
    FunctionInfo{"range", 1, 3},
    FunctionInfo{"zeros", 1, 1},
    FunctionInfo{"ones", 1, 1},
    FunctionInfo{"inverse", 1, 1},
    FunctionInfo{"insert", 3, 3},
    FunctionInfo{"remove", 2, 2},
    FunctionInfo{"replace", 3, 3},
    FunctionInfo{"concat", 1, -1},
    FunctionInfo{"broadcast", 2, -1},
    FunctionInfo{"flatten", 2, 2},
    FunctionInfo{"unflatten", 2, 2},
    FunctionInfo{"lowest", 1, 1},
    FunctionInfo{"highest", 1, 1},
    FunctionInfo{"largest_finite", 1, 1},
    FunctionInfo{"error", 1, -1},
    FunctionInfo{"split_text", 2, 2},
    FunctionInfo{"chars", 1, 1},
    // Dtypes.
    FunctionInfo{"is_float", 1, 1},
    FunctionInfo{"is_int", 1, 1},
    FunctionInfo{"is_complex", 1, 1},
    FunctionInfo{"bits", 1, 1},
    FunctionInfo{"promote", 1, -1},
    FunctionInfo{"accumulator", 1, 1},
    // Elements.
    FunctionInfo{"cast", 2, 2},
    FunctionInfo{"trunc_div", 2, 2},
    FunctionInfo{"trunc_rem", 2, 2},
    FunctionInfo{"pow", 2, 2},
    FunctionInfo{"atan2", 2, 2},
    FunctionInfo{"bit_and", 2, 2},
    FunctionInfo{"bit_or", 2, 2},
    FunctionInfo{"bit_xor", 2, 2},
    FunctionInfo{"bit_not"},
    FunctionInfo{"shift_left", 2, 2},
    FunctionInfo{"shift_right", 2, 2},
    FunctionInfo{"xor", 2, 2},
    FunctionInfo{"sign"},
    FunctionInfo{"rsqrt"},
    FunctionInfo{"recip"},
    FunctionInfo{"exp2"},
    FunctionInfo{"expm1"},
    FunctionInfo{"log2"},
    FunctionInfo{"log1p"},
    FunctionInfo{"sin"},
    FunctionInfo{"cos"},
    FunctionInfo{"tan"},
    FunctionInfo{"asin"},
    FunctionInfo{"acos"},
    FunctionInfo{"atan"},
    FunctionInfo{"sinh"},
    FunctionInfo{"cosh"},
    FunctionInfo{"tanh"},
    FunctionInfo{"asinh"},
    FunctionInfo{"acosh"},
    FunctionInfo{"atanh"},
    FunctionInfo{"erf"},
    FunctionInfo{"sigmoid"},
    FunctionInfo{"is_nan"},
    FunctionInfo{"is_inf"},
    FunctionInfo{"complex", 2, 2},
    FunctionInfo{"re"},
    FunctionInfo{"im"},
    FunctionInfo{"conj"},
};

constexpr std::array<std::string_view, 4> further_dtypes = {
    "bit",
    "ring64",
    "ring128",
    "uint128",
};

}  // namespace

std::span<const FunctionInfo> all_functions() { return table; }

const FunctionInfo* function_named(std::string_view name) {
    auto found = std::find_if(table.begin(), table.end(), [&](const FunctionInfo& info) { return info.name == name; });
    return found == table.end() ? nullptr : &*found;
}

std::vector<std::string> function_names() {
    std::vector<std::string> names;
    for (const FunctionInfo& info : table) names.emplace_back(info.name);
    return names;
}

bool is_dtype_name(std::string_view name) {
    return dtype_named(name).has_value() ||
           std::find(further_dtypes.begin(), further_dtypes.end(), name) != further_dtypes.end();
}

std::vector<std::string> dtype_names() {
    std::vector<std::string> names;
    for (const DTypeInfo& info : all_dtypes()) names.emplace_back(info.name);
    names.insert(names.end(), further_dtypes.begin(), further_dtypes.end());
    return names;
}

}  // namespace heddle
