// Kernels of the reductions.
#include <cstring>
#include <limits>

#include "evaluate/lanes.h"
#include "expr/scalar_functions.h"

namespace heddle::evaluation {
namespace {

template <typename F, typename T>
void accumulate(void* accumulator, const void* term, const int64_t* filter, int64_t count) {
    auto* a = static_cast<T*>(accumulator);
    auto* t = static_cast<const T*>(term);
    if (filter) {
        for (int64_t i = 0; i < count; i++) a[i] = filter[i] ? F::apply(a[i], t[i]) : a[i];
    } else {
        for (int64_t i = 0; i < count; i++) a[i] = F::apply(a[i], t[i]);
    }
}

template <typename F>
Accumulate reduction_for(DType dtype, LaneType lanes) {
    if (lanes == LaneType::single) return &accumulate<F, float>;
    if (lanes == LaneType::real) return &accumulate<F, double>;
    return dtype == DType::uint64 ? &accumulate<F, uint64_t> : &accumulate<F, int64_t>;
}

// Whether a term replaces the best so far: NaN before all numbers, the first of equals stays.
struct Lower {
    template <typename T>
    static bool better(T term, T best) {
        return term < best || ((term != term) & (best == best));
    }
};
struct Higher {
    template <typename T>
    static bool better(T term, T best) {
        return term > best || ((term != term) & (best == best));
    }
};

template <typename Order, typename T>
void accumulate_argument(void* best_lanes, int64_t* index, const void* term, const int64_t* filter, int64_t position,
                         int64_t step, int64_t count) {
    auto* best = static_cast<T*>(best_lanes);
    auto* t = static_cast<const T*>(term);
    for (int64_t i = 0; i < count; i++) {
        bool take = (!filter || filter[i]) && (index[i] < 0 || Order::better(t[i], best[i]));
        best[i] = take ? t[i] : best[i];
        index[i] = take ? position + step * i : index[i];
    }
}

template <typename Order>
AccumulateArgument argument_reduction_for(DType dtype, LaneType lanes) {
    if (lanes == LaneType::single) return &accumulate_argument<Order, float>;
    if (lanes == LaneType::real) return &accumulate_argument<Order, double>;
    return dtype == DType::uint64 ? &accumulate_argument<Order, uint64_t> : &accumulate_argument<Order, int64_t>;
}

// The greatest or least value of an integer type, as int64 lanes.
}  // namespace

Accumulate accumulate_kernel(Reducer reducer, DType term, LaneType lanes) {
    switch (reducer) {
    case Reducer::sum: return reduction_for<scalar_functions::Add>(term, lanes);
    case Reducer::product: return reduction_for<scalar_functions::Multiply>(term, lanes);
    case Reducer::minimum: return reduction_for<scalar_functions::Minimum>(term, lanes);
    case Reducer::maximum: return reduction_for<scalar_functions::Maximum>(term, lanes);
    case Reducer::any: return &accumulate<scalar_functions::BitOr, int64_t>;
    case Reducer::all: return &accumulate<scalar_functions::BitAnd, int64_t>;
    default: return nullptr;
    }
}

AccumulateArgument argument_kernel(Reducer reducer, DType term, LaneType lanes) {
    return reducer == Reducer::argument_minimum ? argument_reduction_for<Lower>(term, lanes)
                                                : argument_reduction_for<Higher>(term, lanes);
}

void neutral_value(Reducer reducer, DType term, LaneType lanes, void* value) {
    const NeutralTerm neutral = heddle::neutral(reducer, term);
    literal_value(lanes == LaneType::real ? DType::float64 : term, lanes, neutral.integer, neutral.real, value);
}

}  // namespace heddle::evaluation
