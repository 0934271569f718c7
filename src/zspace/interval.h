// Sets of integers between two ends, both inside. Arithmetic on ends is exact; where a result leaves int64, the wrapped
// number may be anything, and nothing is known.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

namespace heddle {

struct Interval {
    // At the limit of the type an end is open: nothing is known on its side, and arithmetic takes it for infinite.
    int64_t low = INT64_MIN, high = INT64_MAX;

    static Interval point(int64_t value) { return {value, value}; }
    // The values of a variable: 0 .. extent - 1.
    static Interval below(int64_t extent) { return {0, extent - 1}; }

    bool known_low() const { return low != INT64_MIN; }
    bool known_high() const { return high != INT64_MAX; }
    bool known() const { return known_low() && known_high(); }
    bool is_empty() const { return low > high; }
    bool is_point() const { return low == high; }
    bool within(int64_t first, int64_t last) const { return low >= first && high <= last; }
    bool within(Interval other) const { return within(other.low, other.high); }
    bool operator==(const Interval&) const = default;
};

inline Interval hull(Interval a, Interval b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }
inline Interval intersection(Interval a, Interval b) { return {std::max(a.low, b.low), std::min(a.high, b.high)}; }
inline Interval minimum(Interval a, Interval b) { return {std::min(a.low, b.low), std::min(a.high, b.high)}; }
inline Interval maximum(Interval a, Interval b) { return {std::max(a.low, b.low), std::max(a.high, b.high)}; }

// Of operands that are not empty.
Interval operator+(Interval a, Interval b);
Interval operator-(Interval a, Interval b);
Interval operator*(Interval a, Interval b);
Interval operator-(Interval a);
Interval magnitude(Interval a);
// As zspace/checked.h has them, and as C has them; a division by zero gives 0.
Interval floor_divide(Interval a, Interval b);
Interval floor_modulo(Interval a, Interval b);
Interval truncated_divide(Interval a, Interval b);
Interval truncated_remainder(Interval a, Interval b);

// A sum of multiples: only the whole of it must fit.
class IntervalSum {
public:
    explicit IntervalSum(int64_t constant) : low_(constant), high_(constant) {}
    void add(int64_t factor, Interval term);
    Interval interval() const;

private:
    __int128 low_, high_;
};

}  // namespace heddle
