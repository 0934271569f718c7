#include "language/functions.h"

#include <algorithm>
#include <array>

#include "support/dtype.h"

namespace heddle {
namespace {

using enum ListArguments;

constexpr std::array table = {
    FunctionInfo{"has", 1, 1, whole, "has(x)"},
    // Lists and numbers.
    FunctionInfo{"len", 1, 1, whole, "len([3, 4])"},
    FunctionInfo{"sum", 1, 1, joined, "sum([3, 4])"},
    FunctionInfo{"prod", 1, 1, joined, "prod([3, 4])"},
    FunctionInfo{"min", 1, -1, joined, "min(3, 4)"},
    FunctionInfo{"max", 1, -1, joined, "max([3, 4, 5])"},
    FunctionInfo{"all", 1, 1, joined, "all([true, 3 < 4])"},
    FunctionInfo{"any", 1, 1, joined, "any([false, 3 < 4])"},
    FunctionInfo{"abs", 1, 1, each, "abs(-3)"},
    FunctionInfo{"clamp", 3, 3, each, "clamp([3, 9], 4, 6)", "clamp(x, low, high)"},
    FunctionInfo{"floor", 1, 1, each, "floor(-1.5)"},
    FunctionInfo{"ceil", 1, 1, each, "ceil(1.5)"},
    FunctionInfo{"round", 1, 1, each, "round(2.5)"},
    FunctionInfo{"trunc", 1, 1, each, "trunc(-1.5)"},
    FunctionInfo{"float", 1, 1, each, "float(3)"},
    FunctionInfo{"ceildiv", 2, 2, each, "ceildiv([7, 8], 4)"},
    FunctionInfo{"where", 3, 3, each, "where([true, false], 3, [4, 5])", "where(condition, a, b)"},
    FunctionInfo{"contains", 2, 2, whole, "contains([3, 4], 3)"},
    FunctionInfo{"position", 2, 2, whole, "position([3, 4], 4)"},
    FunctionInfo{"unique", 1, 1, whole, "unique([3, 4, 3])"},
    FunctionInfo{"sort", 1, 1, whole, "sort([4, 3])"},
    FunctionInfo{"reverse", 1, 1, whole, "reverse([3, 4])"},
    FunctionInfo{"range", 1, 3, whole, "range(3, 9, 2)"},
    FunctionInfo{"zeros", 1, 1, whole, "zeros(3)"},
    FunctionInfo{"ones", 1, 1, whole, "ones(3)"},
    FunctionInfo{"inverse", 1, 1, whole, "inverse([2, 0, 1])"},
    FunctionInfo{"insert", 3, 3, whole, "insert([3, 4], [0, 3], [7, 8])", "insert(list, positions, values)"},
    FunctionInfo{"remove", 2, 2, whole, "remove([3, 4], 0)", "remove(list, positions)"},
    FunctionInfo{"replace", 3, 3, whole, "replace([3, 4], -1, 7)", "replace(list, positions, values)"},
    FunctionInfo{"offsets", 1, 1, whole, "offsets([3, 4, 5])", "offsets(sizes)"},
    FunctionInfo{"concat", 1, -1, whole, "concat([3], [4, 5])"},
    FunctionInfo{"broadcast", 1, -1, whole, "broadcast([4, 1], [3, 1, 5])"},
    FunctionInfo{"flatten", 2, 2, whole, "flatten([1, 2], [3, 4])"},
    FunctionInfo{"unflatten", 2, 2, whole, "unflatten(7, [3, 4])"},
    FunctionInfo{"error", 1, 1, whole, "error('no')"},
    // Text.
    FunctionInfo{"split_text", 2, 2, whole, "split_text('a,b', ',')"},
    FunctionInfo{"chars", 1, 1, whole, "chars('ab c')"},
    // Dtypes.
    FunctionInfo{"is_float", 1, 1, each, "is_float(float32)"},
    FunctionInfo{"is_int", 1, 1, each, "is_int(float32)"},
    FunctionInfo{"is_complex", 1, 1, each, "is_complex(complex64)"},
    FunctionInfo{"bits", 1, 1, each, "bits(int16)"},
    FunctionInfo{"promote", 1, -1, joined, "promote(int32, float32)"},
    FunctionInfo{"accumulator", 1, 1, each, "accumulator(float16)"},
    FunctionInfo{"lowest", 1, 1, each, "lowest(int8)"},
    FunctionInfo{"highest", 1, 1, each, "highest(uint16)"},
    FunctionInfo{"largest_finite", 1, 1, each, "largest_finite(float32)"},
    FunctionInfo{"cast", 2, 2, each, "cast(3, float32)", "cast(x, $T)", true},
    // Scalar operations: expr/scalar_op.h has their meaning under the same names.
    FunctionInfo{"trunc_div", 2, 2, each, "trunc_div(-7, 2)"},
    FunctionInfo{"trunc_rem", 2, 2, each, "trunc_rem(-7, 2)"},
    FunctionInfo{"pow", 2, 2, each, "pow(2, 3)", "pow(base, exponent)"},
    FunctionInfo{"atan2", 2, 2, each, "atan2(1, 2)"},
    FunctionInfo{"bit_and", 2, 2, each, "bit_and(6, 3)"},
    FunctionInfo{"bit_or", 2, 2, each, "bit_or(6, 3)"},
    FunctionInfo{"bit_xor", 2, 2, each, "bit_xor(6, 3)"},
    FunctionInfo{"bit_not", 1, 1, each, "bit_not(6)"},
    FunctionInfo{"popcount", 1, 1, each, "popcount(6)"},
    FunctionInfo{"bit_length", 1, 1, each, "bit_length(6)"},
    FunctionInfo{"leading_zeros", 1, 1, each, "leading_zeros(6)"},
    FunctionInfo{"trailing_zeros", 1, 1, each, "trailing_zeros(6)"},
    FunctionInfo{"hypot", 2, 2, each, "hypot(3, 4)"},
    FunctionInfo{"copysign", 2, 2, each, "copysign(2, -0.5)", "copysign(magnitude, sign)"},
    FunctionInfo{"fma", 3, 3, each, "fma(2, 3, 4)", "fma(a, b, c)"},
    FunctionInfo{"shift_left", 2, 2, each, "shift_left(3, 2)"},
    FunctionInfo{"shift_right", 2, 2, each, "shift_right(12, 2)"},
    FunctionInfo{"xor", 2, 2, each, "xor(true, false)"},
    FunctionInfo{"sign", 1, 1, each, "sign(-3)"},
    FunctionInfo{"sqrt", 1, 1, each, "sqrt(2)"},
    FunctionInfo{"rsqrt", 1, 1, each, "rsqrt(2)"},
    FunctionInfo{"recip", 1, 1, each, "recip(4)"},
    FunctionInfo{"exp", 1, 1, each, "exp(1)"},
    FunctionInfo{"exp2", 1, 1, each, "exp2(3)"},
    FunctionInfo{"expm1", 1, 1, each, "expm1(1)"},
    FunctionInfo{"log", 1, 1, each, "log(2)"},
    FunctionInfo{"log2", 1, 1, each, "log2(8)"},
    FunctionInfo{"log1p", 1, 1, each, "log1p(1)"},
    FunctionInfo{"sin", 1, 1, each, "sin(0.5)"},
    FunctionInfo{"cos", 1, 1, each, "cos(0.5)"},
    FunctionInfo{"tan", 1, 1, each, "tan(0.5)"},
    FunctionInfo{"asin", 1, 1, each, "asin(0.5)"},
    FunctionInfo{"acos", 1, 1, each, "acos(0.5)"},
    FunctionInfo{"atan", 1, 1, each, "atan(0.5)"},
    FunctionInfo{"sinh", 1, 1, each, "sinh(0.5)"},
    FunctionInfo{"cosh", 1, 1, each, "cosh(0.5)"},
    FunctionInfo{"tanh", 1, 1, each, "tanh(0.5)"},
    FunctionInfo{"asinh", 1, 1, each, "asinh(0.5)"},
    FunctionInfo{"acosh", 1, 1, each, "acosh(1.5)"},
    FunctionInfo{"atanh", 1, 1, each, "atanh(0.5)"},
    FunctionInfo{"erf", 1, 1, each, "erf(0.5)"},
    FunctionInfo{"erfc", 1, 1, each, "erfc(0.5)"},
    FunctionInfo{"lgamma", 1, 1, each, "lgamma(0.5)"},
    FunctionInfo{"digamma", 1, 1, each, "digamma(0.5)"},
    FunctionInfo{"sigmoid", 1, 1, each, "sigmoid(0.5)"},
    FunctionInfo{"is_nan", 1, 1, each, "is_nan(0.5)"},
    FunctionInfo{"is_inf", 1, 1, each, "is_inf(inf)"},
    FunctionInfo{"complex", 2, 2, each, "complex(0.5, 1.5)", "", true},
    FunctionInfo{"re", 1, 1, each, "re(0.5)", "", true},
    FunctionInfo{"im", 1, 1, each, "im(0.5)", "", true},
    FunctionInfo{"conj", 1, 1, each, "conj(0.5)", "", true},
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
