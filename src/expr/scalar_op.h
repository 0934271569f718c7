// The scalar operations that bodies, equations, kernels and scheduled trees are made of. One table for all of them
// (scalar_ops.def), and the one place that says which types they take.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "support/dtype.h"

namespace heddle {

enum class ScalarOp : uint8_t {
#define HEDDLE_SCALAR(op, ...) op,
#define HEDDLE_FUNCTION(op, ...) op,
#include "expr/scalar_ops.def"
};
inline constexpr size_t scalar_op_count = static_cast<size_t>(ScalarOp::conjugate) + 1;

enum class ScalarClass : uint8_t {
    arithmetic,  // result of the operands' type; `abs` of a complex number: a real one
    comparison,  // result bool
    predicate,   // result bool
    of_complex,  // parts of complex numbers, and these from their parts
};

// Types that an operation takes; never one that is only stored.
using TypeSet = uint8_t;
namespace type_sets {
inline constexpr TypeSet bools = 1, integers = 2, floats = 4, complexes = 8, naturals = 16;  // unsigned integers
inline constexpr TypeSet words = 32;                                                         // int32 alone
}  // namespace type_sets

// What is known of a result from the ends between which the operands lie (scalar_interval.h).
enum class IntervalRule : uint8_t {
    none,
    sum,
    difference,
    product,
    quotient,  // of floats
    floor_quotient,
    floor_remainder,
    truncated_quotient,
    truncated_remainder,
    least,
    greatest,
    bits,  // of two integers or bools
    bit_count,
    comparison,
    truth,  // 0 to 1
    negation,
    magnitude,
    monotone,  // the ends are results of ends
    wave,      // -1 to 1
};

struct ScalarOpInfo {
    ScalarOp op;
    std::string_view name;
    std::string_view infix;
    ScalarClass kind;
    int operands;
    TypeSet accepts;
    int cost;
    int size;
    double ulps;
    IntervalRule interval;
    std::array<std::string_view, 3> shares;  // of the adjoint, by operand
    // The value, where the operation is of one or two such numbers; one operand is the first. Truth is 0 or 1, integers wrap at
    // 64 bits.
    double (*real)(double a, double b);
    int64_t (*integer)(int64_t a, int64_t b);
};

const ScalarOpInfo& info(ScalarOp op);
std::span<const ScalarOpInfo> all_scalar_ops();
std::optional<ScalarOp> scalar_op_named(std::string_view name);

bool accepts(ScalarOp op, DType operand);
// The type of an operation's result on operands of type `of`, which it accepts.
DType result_type(ScalarOp op, DType of);
// Whether there is such an operation: the number of operands, their types, the result's.
bool is_typed(ScalarOp op, DType result, std::span<const DType> operands);
// The same where complex numbers have been taken apart: equations and all that comes after them.
bool is_typed_real(ScalarOp op, DType result, std::span<const DType> operands);

inline bool is_complex(ScalarOp op) { return info(op).kind == ScalarClass::of_complex; }
inline bool is_expensive(ScalarOp op) { return info(op).cost >= 10; }

// How a reduction combines its terms.
enum class Reducer : uint8_t { sum, product, minimum, maximum, any, all, argument_minimum, argument_maximum };

std::string_view name(Reducer reducer);  // sum prod min max any all argmin argmax
std::optional<Reducer> reducer_named(std::string_view name);
inline bool is_argument(Reducer r) { return r == Reducer::argument_minimum || r == Reducer::argument_maximum; }
bool accepts(Reducer reducer, DType term);  // `any` of integers, in equations only: their bits by or
// What a term must be to change nothing: of a float or complex type `real`, else `integer`, as 64 bits (of the greatest
// uint64 they are -1). For an argument reduction what any other term beats.
struct NeutralTerm {
    int64_t integer = 0;
    double real = 0;
};
NeutralTerm neutral(Reducer reducer, DType term);
// The operation that joins two partial results; nothing for argument reductions.
std::optional<ScalarOp> joining_op(Reducer reducer);

}  // namespace heddle
