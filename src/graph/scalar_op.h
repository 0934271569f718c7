// The scalar operations that bodies, equations and scheduled trees are made of: one table for all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "support/dtype.h"

namespace heddle {

enum class ScalarOp : uint8_t {
    // Two operands of one type, result of that type. Integer + - * wrap. Floats follow IEEE.
    add,
    subtract,
    multiply,
    divide,              // floats only
    floor_divide,        // floors; integers by zero give 0
    modulo,              // floors; integers by zero give 0
    truncate_divide,     // integers; by zero gives 0
    truncate_remainder,  // C's % and fmod; integers by zero give 0
    minimum,
    maximum,  // a NaN wins
    power,
    atan2,
    bit_and,
    bit_or,
    bit_xor,
    shift_left,
    shift_right,  // integers; bit_and, bit_or, bit_xor also bool
    // Two operands of one type, result bool.
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,
    logical_and,
    logical_or,
    logical_xor,  // bool
    // One operand, result of its type.
    negate,
    absolute,  // of a complex operand: a real number
    sign,
    logical_not,
    bit_not,
    floor,
    ceil,
    round,
    truncate,  // round: half to even
    sqrt,
    rsqrt,
    reciprocal,
    exp,
    exp2,
    expm1,
    log,
    log2,
    log1p,
    sin,
    cos,
    tan,
    asin,
    acos,
    atan,
    sinh,
    cosh,
    tanh,
    asinh,
    acosh,
    atanh,
    erf,
    sigmoid,
    // One float operand, result bool.
    is_nan,
    is_infinite,
    // Complex numbers, in bodies only: lower_complex takes them apart.
    complex,    // two operands of one float type, the real part first; result of the complex type of such parts
    real_part,  // of one complex operand; so are the next two
    imaginary_part,
    conjugate,
};

enum class ScalarClass : uint8_t { arithmetic, comparison, unary, predicate, of_complex };

struct ScalarOpInfo {
    ScalarOp op;
    std::string_view name;   // as bodies and both text forms spell a call: "exp", "trunc_div"
    std::string_view infix;  // as they spell an operator: "+"; empty where it is a call
    ScalarClass kind;
    int operands;
    int cost;     // in operations of one cycle's throughput; 10 marks what is not worth doing twice
    double ulps;  // stated accuracy of our own code in units in the last place; 0.5 is correctly rounded
};

const ScalarOpInfo& info(ScalarOp op);
std::optional<ScalarOp> scalar_op_named(std::string_view name);
// The type of an operation's result on operands of type `of`, which it accepts.
DType result_type(ScalarOp op, DType of);
inline bool is_complex(ScalarOp op) { return info(op).kind == ScalarClass::of_complex; }
inline bool is_expensive(ScalarOp op) { return info(op).cost >= 10; }

// How a reduction combines its terms.
enum class Reducer : uint8_t { sum, product, minimum, maximum, any, all, argument_minimum, argument_maximum };

std::string_view name(Reducer reducer);  // sum prod min max any all argmin argmax
std::optional<Reducer> reducer_named(std::string_view name);
inline bool is_argument(Reducer r) { return r == Reducer::argument_minimum || r == Reducer::argument_maximum; }

}  // namespace heddle
