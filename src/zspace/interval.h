// Sets of integers between two ends, both inside. Arithmetic on ends is exact; where a result leaves int64, the wrapped
// number may be anything, and nothing is known.
#pragma once

#include <cstdint>

#include "zspace/size.h"

namespace heddle {

struct Interval {
    // At the limit of the type an end is open: nothing is known on its side, and arithmetic takes it for infinite.
    Size low = INT64_MIN, high = INT64_MAX;

    static Interval point(const Size& value) { return {value, value}; }
    // The values of a variable: 0 .. extent - 1.
    static Interval below(const Size& extent) { return {0, extent - 1}; }

    bool known_low() const { return low.number() != INT64_MIN; }
    bool known_high() const { return high.number() != INT64_MAX; }
    bool known() const { return known_low() && known_high(); }
    bool is_empty() const { return low > high; }
    bool is_point() const { return low == high; }
    bool within(const Size& first, const Size& last) const { return low >= first && high <= last; }
    bool within(const Interval& other) const { return within(other.low, other.high); }
    bool operator==(const Interval&) const = default;
};

inline Interval hull(const Interval& a, const Interval& b) {
    return {heddle::minimum(a.low, b.low), heddle::maximum(a.high, b.high)};
}
inline Interval intersection(const Interval& a, const Interval& b) {
    return {heddle::maximum(a.low, b.low), heddle::minimum(a.high, b.high)};
}
inline Interval minimum(const Interval& a, const Interval& b) {
    return {heddle::minimum(a.low, b.low), heddle::minimum(a.high, b.high)};
}
inline Interval maximum(const Interval& a, const Interval& b) {
    return {heddle::maximum(a.low, b.low), heddle::maximum(a.high, b.high)};
}

// Of operands that are not empty.
Interval operator+(const Interval& a, const Interval& b);
Interval operator-(const Interval& a, const Interval& b);
Interval operator*(const Interval& a, const Interval& b);
Interval operator-(const Interval& a);
Interval magnitude(const Interval& a);
// As zspace/checked.h has them, and as C has them; a division by zero gives 0.
Interval floor_divide(const Interval& a, const Interval& b);
Interval floor_modulo(const Interval& a, const Interval& b);
Interval truncated_divide(const Interval& a, const Interval& b);
Interval truncated_remainder(const Interval& a, const Interval& b);

// An end, with room for exact sums and products; open ones are infinities.
struct WideEnd {
    __int128 number = 0;
    OriginPointer origin = nullptr;
};

// A sum of multiples: only the whole of it must fit.
class IntervalSum {
public:
    explicit IntervalSum(const Size& constant)
        : low_{constant.number(), constant.origin()}, high_{constant.number(), constant.origin()} {}
    void add(const Size& factor, const Interval& term);
    Interval interval() const;

private:
    WideEnd low_, high_;
};

}  // namespace heddle
