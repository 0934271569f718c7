#include "zspace/interval.h"

#include "zspace/checked.h"

namespace heddle {
namespace {

// Ends with room for exact sums and products; an open end is an infinity.
using Wide = __int128;
constexpr Wide infinity = Wide(1) << 126;

Wide low_of(Interval x) { return x.known_low() ? Wide(x.low) : -infinity; }
Wide high_of(Interval x) { return x.known_high() ? Wide(x.high) : infinity; }
bool is_finite(Wide end) { return end > -infinity && end < infinity; }
Wide negated(Wide end) { return -end; }

Wide sum(Wide a, Wide b) {
    if (!is_finite(a)) return a;
    if (!is_finite(b)) return b;
    return std::clamp(a + b, -infinity + 1, infinity - 1);
}

// Of ends of int64, and infinities.
Wide product(Wide a, Wide b) {
    if (a == 0 || b == 0) return 0;
    if (is_finite(a) && is_finite(b)) return a * b;
    return (a < 0) == (b < 0) ? infinity : -infinity;
}

// `b` is positive.
Wide quotient(Wide a, Wide b) {
    if (!is_finite(a)) return a;
    if (!is_finite(b)) return a < 0 ? -1 : 0;
    return floor_divide(static_cast<int64_t>(a), static_cast<int64_t>(b));
}

bool fits(Wide end) { return !is_finite(end) || (end > INT64_MIN && end < INT64_MAX); }

Interval narrowed(Wide low, Wide high) {
    if (low > INT64_MIN && low < INT64_MAX && high > INT64_MIN && high < INT64_MAX)  // mostly
        return {static_cast<int64_t>(low), static_cast<int64_t>(high)};
    if (!fits(low) || !fits(high)) return {};
    return {is_finite(low) ? static_cast<int64_t>(low) : INT64_MIN,
            is_finite(high) ? static_cast<int64_t>(high) : INT64_MAX};
}

Interval narrowed(std::initializer_list<Wide> corners) { return narrowed(std::min(corners), std::max(corners)); }

// The greatest magnitude.
Wide reach(Interval x) { return std::max(high_of(x), negated(low_of(x))); }

}  // namespace

Interval operator+(Interval a, Interval b) { return narrowed(sum(low_of(a), low_of(b)), sum(high_of(a), high_of(b))); }

Interval operator-(Interval a, Interval b) {
    return narrowed(sum(low_of(a), negated(high_of(b))), sum(high_of(a), negated(low_of(b))));
}

Interval operator*(Interval a, Interval b) {
    return narrowed({product(low_of(a), low_of(b)), product(low_of(a), high_of(b)), product(high_of(a), low_of(b)),
                     product(high_of(a), high_of(b))});
}

Interval operator-(Interval a) { return narrowed(negated(high_of(a)), negated(low_of(a))); }

Interval magnitude(Interval a) {
    if (a.low >= 0) return a;
    return narrowed(a.high <= 0 ? negated(high_of(a)) : 0, reach(a));
}

Interval floor_divide(Interval a, Interval b) {
    if (b == Interval::point(0)) return b;
    if (b.low <= 0) return narrowed(-reach(a), reach(a));  // |x // y| <= |x| for every y but 0
    return narrowed({quotient(low_of(a), low_of(b)), quotient(low_of(a), high_of(b)), quotient(high_of(a), low_of(b)),
                     quotient(high_of(a), high_of(b))});
}

Interval floor_modulo(Interval a, Interval b) {
    if (b == Interval::point(0)) return b;
    if (b.low <= 0) return narrowed(std::min<Wide>(sum(low_of(b), 1), 0), std::max<Wide>(sum(high_of(b), -1), 0));
    const int64_t divisor = b.low;
    if (b.is_point() && a.known() && floor_divide(a.low, divisor) == floor_divide(a.high, divisor))
        return {floor_modulo(a.low, divisor), floor_modulo(a.high, divisor)};
    if (a.low >= 0 && a.high < divisor) return a;
    return narrowed(0, sum(high_of(b), -1));
}

Interval truncated_divide(Interval a, Interval b) {
    if (a.low >= 0 && b.low > 0) return floor_divide(a, b);
    return narrowed(-reach(a), reach(a));
}

Interval truncated_remainder(Interval a, Interval b) {
    if (a.low >= 0 && b.low > 0) return floor_modulo(a, b);
    const Wide most = std::max<Wide>(sum(reach(b), -1), 0);  // of the dividend's sign
    return narrowed(a.low >= 0 ? 0 : -most, a.high <= 0 ? 0 : most);
}

void IntervalSum::add(int64_t factor, Interval term) {
    const Wide low = product(factor, low_of(term)), high = product(factor, high_of(term));
    low_ = sum(low_, factor > 0 ? low : high);
    high_ = sum(high_, factor > 0 ? high : low);
}

Interval IntervalSum::interval() const { return narrowed(low_, high_); }

}  // namespace heddle
