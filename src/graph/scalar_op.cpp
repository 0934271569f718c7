#include "graph/scalar_op.h"

#include <array>

namespace heddle {
namespace {

using enum ScalarOp;
using enum ScalarClass;

constexpr std::array table = {
    ScalarOpInfo{add, "add", "+", arithmetic, 2, 1, 0.5},
    ScalarOpInfo{subtract, "sub", "-", arithmetic, 2, 1, 0.5},
    ScalarOpInfo{multiply, "mul", "*", arithmetic, 2, 1, 0.5},
    ScalarOpInfo{divide, "div", "/", arithmetic, 2, 10, 0.5},
    ScalarOpInfo{floor_divide, "floor_div", "//", arithmetic, 2, 10, 0.5},
    ScalarOpInfo{modulo, "mod", "%", arithmetic, 2, 10, 0.5},
    ScalarOpInfo{truncate_divide, "trunc_div", "", arithmetic, 2, 10, 0.5},
    ScalarOpInfo{truncate_remainder, "trunc_rem", "", arithmetic, 2, 10, 0.5},
    ScalarOpInfo{minimum, "min", "", arithmetic, 2, 1, 0.5},
    ScalarOpInfo{maximum, "max", "", arithmetic, 2, 1, 0.5},
    ScalarOpInfo{power, "pow", "^", arithmetic, 2, 10, 4},
    ScalarOpInfo{atan2, "atan2", "", arithmetic, 2, 10, 4},
    ScalarOpInfo{bit_and, "bit_and", "", arithmetic, 2, 1, 0.5},
    ScalarOpInfo{bit_or, "bit_or", "", arithmetic, 2, 1, 0.5},
    ScalarOpInfo{bit_xor, "bit_xor", "", arithmetic, 2, 1, 0.5},
    ScalarOpInfo{shift_left, "shift_left", "", arithmetic, 2, 1, 0.5},
    ScalarOpInfo{shift_right, "shift_right", "", arithmetic, 2, 1, 0.5},
    ScalarOpInfo{equal, "equal", "==", comparison, 2, 1, 0.5},
    ScalarOpInfo{not_equal, "not_equal", "!=", comparison, 2, 1, 0.5},
    ScalarOpInfo{less, "less", "<", comparison, 2, 1, 0.5},
    ScalarOpInfo{less_equal, "less_equal", "<=", comparison, 2, 1, 0.5},
    ScalarOpInfo{greater, "greater", ">", comparison, 2, 1, 0.5},
    ScalarOpInfo{greater_equal, "greater_equal", ">=", comparison, 2, 1, 0.5},
    ScalarOpInfo{logical_and, "and", "&&", arithmetic, 2, 1, 0.5},
    ScalarOpInfo{logical_or, "or", "||", arithmetic, 2, 1, 0.5},
    ScalarOpInfo{logical_xor, "xor", "", arithmetic, 2, 1, 0.5},
    ScalarOpInfo{negate, "neg", "", unary, 1, 1, 0.5},
    ScalarOpInfo{absolute, "abs", "", unary, 1, 1, 0.5},
    ScalarOpInfo{sign, "sign", "", unary, 1, 1, 0.5},
    ScalarOpInfo{logical_not, "not", "", unary, 1, 1, 0.5},
    ScalarOpInfo{bit_not, "bit_not", "", unary, 1, 1, 0.5},
    ScalarOpInfo{floor, "floor", "", unary, 1, 1, 0.5},
    ScalarOpInfo{ceil, "ceil", "", unary, 1, 1, 0.5},
    ScalarOpInfo{round, "round", "", unary, 1, 1, 0.5},
    ScalarOpInfo{truncate, "trunc", "", unary, 1, 1, 0.5},
    ScalarOpInfo{sqrt, "sqrt", "", unary, 1, 10, 0.5},
    ScalarOpInfo{rsqrt, "rsqrt", "", unary, 1, 10, 2},
    ScalarOpInfo{reciprocal, "recip", "", unary, 1, 10, 0.5},
    ScalarOpInfo{exp, "exp", "", unary, 1, 10, 2},
    ScalarOpInfo{exp2, "exp2", "", unary, 1, 10, 2},
    ScalarOpInfo{expm1, "expm1", "", unary, 1, 10, 4},
    ScalarOpInfo{log, "log", "", unary, 1, 10, 2},
    ScalarOpInfo{log2, "log2", "", unary, 1, 10, 4},
    ScalarOpInfo{log1p, "log1p", "", unary, 1, 10, 4},
    ScalarOpInfo{sin, "sin", "", unary, 1, 10, 2},
    ScalarOpInfo{cos, "cos", "", unary, 1, 10, 2},
    ScalarOpInfo{tan, "tan", "", unary, 1, 10, 4},
    ScalarOpInfo{asin, "asin", "", unary, 1, 10, 4},
    ScalarOpInfo{acos, "acos", "", unary, 1, 10, 4},
    ScalarOpInfo{atan, "atan", "", unary, 1, 10, 4},
    ScalarOpInfo{sinh, "sinh", "", unary, 1, 10, 4},
    ScalarOpInfo{cosh, "cosh", "", unary, 1, 10, 4},
    ScalarOpInfo{tanh, "tanh", "", unary, 1, 10, 4},
    ScalarOpInfo{asinh, "asinh", "", unary, 1, 10, 4},
    ScalarOpInfo{acosh, "acosh", "", unary, 1, 10, 4},
    ScalarOpInfo{atanh, "atanh", "", unary, 1, 10, 4},
    ScalarOpInfo{erf, "erf", "", unary, 1, 10, 4},
    ScalarOpInfo{sigmoid, "sigmoid", "", unary, 1, 10, 4},
    ScalarOpInfo{is_nan, "is_nan", "", predicate, 1, 1, 0.5},
    ScalarOpInfo{is_infinite, "is_inf", "", predicate, 1, 1, 0.5},
    ScalarOpInfo{complex, "complex", "", of_complex, 2, 1, 0.5},
    ScalarOpInfo{real_part, "re", "", of_complex, 1, 1, 0.5},
    ScalarOpInfo{imaginary_part, "im", "", of_complex, 1, 1, 0.5},
    ScalarOpInfo{conjugate, "conj", "", of_complex, 1, 1, 0.5},
};

constexpr std::array<std::string_view, 8> reducers = {"sum", "prod", "min", "max", "any", "all", "argmin", "argmax"};

}  // namespace

const ScalarOpInfo& info(ScalarOp op) { return table[static_cast<size_t>(op)]; }

std::optional<ScalarOp> scalar_op_named(std::string_view name) {
    for (const auto& row : table) {
        if (row.name == name) return row.op;
    }
    return std::nullopt;
}

DType result_type(ScalarOp op, DType of) {
    const ScalarClass kind = info(op).kind;
    if (kind == comparison || kind == predicate) return DType::boolean;
    if (op == complex) return of == DType::float64 ? DType::complex128 : DType::complex64;
    return op == real_part || op == imaginary_part || op == absolute ? real_type(of) : of;
}

std::string_view name(Reducer reducer) { return reducers[static_cast<size_t>(reducer)]; }

std::optional<Reducer> reducer_named(std::string_view name) {
    for (size_t i = 0; i < reducers.size(); i++) {
        if (reducers[i] == name) return static_cast<Reducer>(i);
    }
    return std::nullopt;
}

}  // namespace heddle
