#include "zspace/interval.h"

#include "zspace/checked.h"

namespace heddle {
namespace {

using Wide = __int128;
constexpr Wide infinity = Wide(1) << 126;

bool is_finite(Wide end) { return end > -infinity && end < infinity; }
bool is_finite(const WideEnd& end) { return is_finite(end.number); }
bool fits(Wide end) { return end > INT64_MIN && end < INT64_MAX; }

WideEnd low_of(const Interval& x) {
    return x.known_low() ? WideEnd{x.low.number(), x.low.origin()} : WideEnd{-infinity};
}
WideEnd high_of(const Interval& x) {
    return x.known_high() ? WideEnd{x.high.number(), x.high.origin()} : WideEnd{infinity};
}
// Of an end that fits.
Size size_of(const WideEnd& end) { return {static_cast<int64_t>(end.number), end.origin}; }

// What an operation on ends of which one is named gives; beyond all numbers where one of them does not fit.
WideEnd named(const WideEnd& a, const WideEnd& b, Wide result, Origin::Kind operation) {
    if (!fits(a.number) || !fits(b.number) || !fits(result)) return {result < 0 ? -infinity + 1 : infinity - 1};
    const auto origin_of = [](const WideEnd& end) {
        return end.origin ? end.origin : Origin::of_constant(static_cast<int64_t>(end.number));
    };
    return {result, Origin::of(operation, origin_of(a), origin_of(b))};
}

WideEnd sum(const WideEnd& a, const WideEnd& b) {
    if (!is_finite(a)) return a;
    if (!is_finite(b)) return b;
    const Wide result = std::clamp(a.number + b.number, -infinity + 1, infinity - 1);
    return a.origin || b.origin ? named(a, b, result, Origin::Kind::add) : WideEnd{result};
}

// Of ends of int64, and infinities.
WideEnd product(const WideEnd& a, const WideEnd& b) {
    if (is_finite(a) && is_finite(b)) {
        const Wide result = a.number * b.number;
        return a.origin || b.origin ? named(a, b, result, Origin::Kind::multiply) : WideEnd{result};
    }
    const auto sign = [](const WideEnd& end) {
        if (!end.origin) return (end.number > 0) - (end.number < 0);
        const Size size = size_of(end);
        return (size > 0) - (size < 0);
    };
    const int direction = sign(a) * sign(b);
    return direction == 0 ? WideEnd{0} : direction > 0 ? WideEnd{infinity} : WideEnd{-infinity};
}

WideEnd negated(const WideEnd& end) { return end.origin ? product(end, WideEnd{-1}) : WideEnd{-end.number}; }

bool is_less(const WideEnd& a, const WideEnd& b) {
    if ((!a.origin && !b.origin) || !fits(a.number) || !fits(b.number)) return a.number < b.number;
    return size_of(a) < size_of(b);
}
// Which one of two ends that fit is an expression.
WideEnd extreme(const WideEnd& a, const WideEnd& b, Size (*of)(const Size&, const Size&), bool first) {
    const bool is_expression = (a.origin || b.origin) && fits(a.number) && fits(b.number);
    if (!is_expression) return first ? a : b;
    const Size result = of(size_of(a), size_of(b));
    return {result.number(), result.origin()};
}
WideEnd lesser(const WideEnd& a, const WideEnd& b) {
    return extreme(a, b, size_arithmetic::minimum, a.number <= b.number);
}
WideEnd greater(const WideEnd& a, const WideEnd& b) {
    return extreme(a, b, size_arithmetic::maximum, a.number >= b.number);
}

// `b` is positive.
WideEnd quotient(const WideEnd& a, const WideEnd& b) {
    if (!is_finite(a)) return a;
    if (!is_finite(b)) return {is_less(a, WideEnd{0}) ? -1 : 0};
    const Size result = floor_divide(size_of(a), size_of(b));
    return {result.number(), result.origin()};
}

Interval narrowed(const WideEnd& low, const WideEnd& high) {
    if (fits(low.number) && fits(high.number)) return {size_of(low), size_of(high)};  // mostly
    if ((is_finite(low) && !fits(low.number)) || (is_finite(high) && !fits(high.number))) return {};
    return {is_finite(low) ? size_of(low) : Size(INT64_MIN), is_finite(high) ? size_of(high) : Size(INT64_MAX)};
}

// The greatest magnitude.
WideEnd reach(const Interval& x) { return greater(high_of(x), negated(low_of(x))); }

}  // namespace

Interval operator+(const Interval& a, const Interval& b) {
    return narrowed(sum(low_of(a), low_of(b)), sum(high_of(a), high_of(b)));
}

Interval operator-(const Interval& a, const Interval& b) {
    return narrowed(sum(low_of(a), negated(high_of(b))), sum(high_of(a), negated(low_of(b))));
}

Interval operator*(const Interval& a, const Interval& b) {
    if (a.low >= 0 && b.low >= 0) return narrowed(product(low_of(a), low_of(b)), product(high_of(a), high_of(b)));
    const WideEnd corners[] = {product(low_of(a), low_of(b)), product(low_of(a), high_of(b)),
                               product(high_of(a), low_of(b)), product(high_of(a), high_of(b))};
    return narrowed(lesser(lesser(corners[0], corners[1]), lesser(corners[2], corners[3])),
                    greater(greater(corners[0], corners[1]), greater(corners[2], corners[3])));
}

Interval operator-(const Interval& a) { return narrowed(negated(high_of(a)), negated(low_of(a))); }

Interval magnitude(const Interval& a) {
    if (a.low >= 0) return a;
    return narrowed(a.high <= 0 ? negated(high_of(a)) : WideEnd{0}, reach(a));
}

Interval floor_divide(const Interval& a, const Interval& b) {
    if (b.low == 0 && b.high == 0) return b;
    if (b.low <= 0) return narrowed(negated(reach(a)), reach(a));  // |x // y| <= |x| for every y but 0
    const WideEnd least = low_of(b), most = high_of(b);
    return narrowed(quotient(low_of(a), a.low >= 0 ? most : least), quotient(high_of(a), a.high >= 0 ? least : most));
}

Interval floor_modulo(const Interval& a, const Interval& b) {
    if (b.low == 0 && b.high == 0) return b;
    const WideEnd last = sum(high_of(b), WideEnd{-1});
    if (b.low <= 0) return narrowed(lesser(sum(low_of(b), WideEnd{1}), WideEnd{0}), greater(last, WideEnd{0}));
    const Size divisor = b.low;
    if (b.is_point() && a.known() && floor_divide(a.low, divisor) == floor_divide(a.high, divisor))
        return {floor_modulo(a.low, divisor), floor_modulo(a.high, divisor)};
    if (a.low >= 0 && a.high < divisor) return a;
    return narrowed(WideEnd{0}, last);
}

Interval truncated_divide(const Interval& a, const Interval& b) {
    if (a.low >= 0 && b.low > 0) return floor_divide(a, b);
    return narrowed(negated(reach(a)), reach(a));
}

Interval truncated_remainder(const Interval& a, const Interval& b) {
    if (a.low >= 0 && b.low > 0) return floor_modulo(a, b);
    const WideEnd most = greater(sum(reach(b), WideEnd{-1}), WideEnd{0});  // of the dividend's sign
    return narrowed(a.low >= 0 ? WideEnd{0} : negated(most), a.high <= 0 ? WideEnd{0} : most);
}

void IntervalSum::add(const Size& factor, const Interval& term) {
    const WideEnd times{factor.number(), factor.origin()};
    const WideEnd low = product(times, low_of(term)), high = product(times, high_of(term));
    const bool rises = factor > 0;
    low_ = sum(low_, rises ? low : high);
    high_ = sum(high_, rises ? high : low);
}

Interval IntervalSum::interval() const { return narrowed(low_, high_); }

}  // namespace heddle
