#include "equations/system_rules.h"

#include <cmath>

#include "equations/arena_interval.h"

namespace heddle::equations {

bool accepts(ScalarOp op, DType dtype) {
    using enum ScalarOp;
    if (is_narrow(dtype) || is_complex(dtype)) return false;
    switch (op) {
    case add:
    case subtract:
    case multiply:
    case floor_divide:
    case modulo:
    case truncate_remainder:
    case minimum:
    case maximum:
    case power:
    case negate:
    case absolute:
    case sign: return !is_bool(dtype);
    case truncate_divide:
    case shift_left:
    case shift_right: return is_integer(dtype);
    case bit_and:
    case bit_or:
    case bit_xor:
    case bit_not: return !is_float(dtype);
    case equal:
    case not_equal:
    case less:
    case less_equal:
    case greater:
    case greater_equal: return true;
    case logical_and:
    case logical_or:
    case logical_xor:
    case logical_not: return is_bool(dtype);
    case complex:
    case real_part:
    case imaginary_part:
    case conjugate: return false;
    default: return is_float(dtype);
    }
}

bool accepts(Reducer reducer, DType term) {
    const bool logical = reducer == Reducer::any || reducer == Reducer::all;
    return logical ? is_bool(term) : !is_bool(term) && !is_narrow(term) && !is_complex(term);
}

Expr neutral(Arena& arena, Reducer reducer, DType dtype) {
    const bool wide = is_float(dtype);
    auto number = [&](int64_t value) {
        return wide ? arena.real(dtype, static_cast<double>(value)) : arena.literal(dtype, value);
    };
    auto extreme = [&](bool greatest) {
        if (wide) return arena.real(dtype, greatest ? INFINITY : -INFINITY);
        if (dtype == DType::uint64) return arena.literal(dtype, greatest ? -1 : 0);
        const Interval range = interval_of_type(dtype);  // of int64: its own ends
        return arena.literal(dtype, greatest ? range.high : range.low);
    };
    switch (reducer) {
    case Reducer::sum: return number(0);
    case Reducer::product: return number(1);
    case Reducer::any: return arena.truth(false);
    case Reducer::all: return arena.truth(true);
    case Reducer::minimum:
    case Reducer::argument_minimum: return extreme(true);
    case Reducer::maximum:
    case Reducer::argument_maximum: return extreme(false);
    }
    return nullptr;
}

}  // namespace heddle::equations
