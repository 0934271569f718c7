#include "equations/system_rules.h"

#include <cmath>

#include "expr/scalar_interval.h"

namespace heddle::equations {

Expr neutral(Arena& arena, Reducer reducer, DType dtype) {
    const bool wide = is_float(dtype);
    auto number = [&](int64_t value) {
        return wide ? arena.real(dtype, static_cast<double>(value)) : arena.literal(dtype, value);
    };
    auto extreme = [&](bool greatest) {
        if (wide) return arena.real(dtype, greatest ? INFINITY : -INFINITY);
        if (dtype == DType::uint64) return arena.literal(dtype, greatest ? -1 : 0);
        const Interval range = heddle::interval_of(dtype);  // of int64: its own ends
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
