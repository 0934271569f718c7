// Writing recipes (codegen/functions.h) as arithmetic: operators on V record steps. For functions.cpp and
// *_functions.cpp alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/functions.h"

namespace heddle::codegen::functions {

struct Builder;

// A step's result while a recipe is written: a float, an integer or a mask, of 32 or 64 bits.
struct V {
    Builder* builder = nullptr;
    int32_t step = -1;
    StepType type = StepType::float32;
};

struct Builder {
    Recipe recipe;
    Units units = Units::plain;
    std::string_view operation;

    V push(Primitive primitive, StepType type, std::initializer_list<V> operands, int64_t integer = 0,
           double real = 0) {
        Step step;
        step.primitive = primitive;
        step.type = type;
        int i = 0;
        for (const V& operand : operands) step.operands[i++] = operand.step;
        step.integer = integer;
        step.real = real;
        recipe.steps.push_back(step);
        return {this, static_cast<int32_t>(recipe.steps.size()) - 1, type};
    }

    struct Alternative {
        V rare, otherwise;
    };
    // What was written since there were `first` steps is rare: values that count where `mask` holds. What is selected.
    std::vector<V> rare(const char* what, V mask, size_t first, std::initializer_list<Alternative> alternatives) {
        const std::string name = std::string(operation) + "_" + what;
        recipe.rare.push_back({name, mask.step, first, recipe.steps.size(), alternatives.size()});
        std::vector<V> selected;
        for (const auto& [then, otherwise] : alternatives)
            selected.push_back(push(Primitive::select, then.type, {mask, then, otherwise}));
        return selected;
    }
};

inline bool is_double(V x) {
    return x.type == StepType::float64 || x.type == StepType::int64 || x.type == StepType::mask64;
}
inline bool is_mask(V x) { return x.type == StepType::mask32 || x.type == StepType::mask64; }
inline StepType float_type(V x) { return is_double(x) ? StepType::float64 : StepType::float32; }
inline StepType integer_type(V x) { return is_double(x) ? StepType::int64 : StepType::int32; }
inline StepType mask_type(V x) { return is_double(x) ? StepType::mask64 : StepType::mask32; }

inline V record(Primitive primitive, StepType type, std::initializer_list<V> operands, int64_t integer = 0) {
    return operands.begin()->builder->push(primitive, type, operands, integer);
}

inline V number(V like, double value) {
    const double rounded = is_double(like) ? value : static_cast<double>(static_cast<float>(value));
    return like.builder->push(Primitive::constant, float_type(like), {}, 0, rounded);
}
inline V integer(V like, int64_t value) {
    return like.builder->push(Primitive::constant, integer_type(like), {}, value);
}

inline V operator+(V a, V b) { return record(Primitive::add, a.type, {a, b}); }
inline V operator-(V a, V b) { return record(Primitive::subtract, a.type, {a, b}); }
inline V operator*(V a, V b) { return record(Primitive::multiply, a.type, {a, b}); }
inline V operator/(V a, V b) { return record(Primitive::divide, a.type, {a, b}); }
inline V operator+(V a, double b) { return a + number(a, b); }
inline V operator-(V a, double b) { return a - number(a, b); }
inline V operator*(V a, double b) { return a * number(a, b); }
inline V operator+(double a, V b) { return number(b, a) + b; }
inline V operator-(double a, V b) { return number(b, a) - b; }
inline V operator*(double a, V b) { return number(b, a) * b; }
inline V operator/(double a, V b) { return number(b, a) / b; }
inline V fma(V a, V b, V c) { return record(Primitive::multiply_add, a.type, {a, b, c}); }
inline V fma(V a, double b, V c) { return fma(a, number(a, b), c); }
inline bool has_parts(V x) { return x.builder->units == Units::parts_of_floats; }
inline bool is_single(V x) { return x.builder->units == Units::single; }
// Where compilers may rearrange what is rounded.
inline V pinned(V x) { return is_single(x) ? record(Primitive::pinned, x.type, {x}) : x; }
inline V rounded_even(V x) { return record(Primitive::round_even, x.type, {x}); }
inline V scaled(V x, V exponent) { return record(Primitive::scale, x.type, {x, exponent}); }
inline V exponent_of(V x) { return record(Primitive::exponent_of, x.type, {x}); }
inline V significand_of(V x) { return record(Primitive::significand_of, x.type, {x}); }
inline V reciprocal_root_estimate(V x) { return record(Primitive::reciprocal_root_estimate, x.type, {x}); }
inline V look_up(const LookUpTable& table, V index) {
    std::vector<LookUpTable>& tables = index.builder->recipe.tables;
    tables.push_back(table);
    return record(Primitive::look_up, StepType::float32, {index}, static_cast<int64_t>(tables.size()) - 1);
}
inline V square_root(V x) { return record(Primitive::square_root, x.type, {x}); }
inline V widen(V x) { return record(Primitive::widen, StepType::float64, {x}); }
inline V narrow(V x) { return record(Primitive::narrow, StepType::float32, {x}); }

inline V bits(V x) { return record(Primitive::bits_of, integer_type(x), {x}); }
inline V from_bits(V x) { return record(Primitive::float_of_bits, float_type(x), {x}); }
inline V to_float(V x) { return record(Primitive::float_of_integer, float_type(x), {x}); }
inline V to_integer(V x) { return record(Primitive::integer_of_float, integer_type(x), {x}); }
inline V integer_sum(V a, V b) { return record(Primitive::integer_add, a.type, {a, b}); }
inline V integer_difference(V a, V b) { return record(Primitive::integer_subtract, a.type, {a, b}); }
inline V operator&(V a, V b) { return record(is_mask(a) ? Primitive::mask_and : Primitive::bit_and, a.type, {a, b}); }
inline V operator|(V a, V b) { return record(is_mask(a) ? Primitive::mask_or : Primitive::bit_or, a.type, {a, b}); }
inline V operator^(V a, V b) { return record(Primitive::bit_xor, a.type, {a, b}); }
inline V operator!(V a) { return record(Primitive::mask_not, a.type, {a}); }
inline V shift_left(V a, int count) { return record(Primitive::shift_left, a.type, {a}, count); }
inline V shift_right_signed(V a, int count) { return record(Primitive::shift_right_signed, a.type, {a}, count); }

inline V operator<(V a, V b) { return record(Primitive::less, mask_type(a), {a, b}); }
inline V operator<(V a, double b) { return a < number(a, b); }
inline V operator<(double a, V b) { return number(b, a) < b; }
inline V operator<=(V a, V b) { return record(Primitive::less_equal, mask_type(a), {a, b}); }
inline V operator<=(V a, double b) { return a <= number(a, b); }
inline V operator<=(double a, V b) { return number(b, a) <= b; }
inline V equal(V a, V b) { return record(Primitive::equal, mask_type(a), {a, b}); }
inline V equal(V a, double b) { return equal(a, number(a, b)); }
inline V integer_equal(V a, V b) { return record(Primitive::integer_equal, mask_type(a), {a, b}); }
inline V is_nan(V x) { return record(Primitive::not_equal, mask_type(x), {x, x}); }
inline V select(V mask, V then, V otherwise) { return record(Primitive::select, then.type, {mask, then, otherwise}); }
inline V select(V mask, V then, double otherwise) { return select(mask, then, number(then, otherwise)); }
inline V select(V mask, double then, V otherwise) { return select(mask, number(otherwise, then), otherwise); }

inline int64_t sign_bit(V x) { return is_double(x) ? INT64_MIN : int64_t{INT32_MIN}; }
inline V absolute(V x) { return from_bits(bits(x) & integer(x, ~sign_bit(x))); }
inline V sign_of(V x) { return bits(x) & integer(x, sign_bit(x)); }
// `magnitude` must not be negative.
inline V with_sign(V magnitude, V sign) { return from_bits(bits(magnitude) | sign_of(sign)); }
inline V negate_where(V mask, V x) { return from_bits(bits(x) ^ select(mask, integer(x, sign_bit(x)), integer(x, 0))); }
// The smaller of x and `limit`, or NaN for NaN.
inline V at_most(V x, double limit) { return select(limit < x, limit, x); }
inline V at_least(V x, double limit) { return select(x < limit, limit, x); }

// Horner's rule; lowest degree first.
template <size_t n>
V polynomial(V x, const double (&coefficients)[n]) {
    V sum = number(x, coefficients[n - 1]);
    for (size_t i = n - 1; i-- > 0;) sum = fma(sum, x, number(x, coefficients[i]));
    return sum;
}

}  // namespace heddle::codegen::functions
