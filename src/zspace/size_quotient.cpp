#include "zspace/size_quotient.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace heddle {
namespace {

bool is_power_of_two(const Size& size) {
    return !size.named() && size.number() > 0 && std::has_single_bit(static_cast<uint64_t>(size.number()));
}

// Of floats, a product or quotient by what is negative would be a negative zero.
bool is_plain_zero(const Size& result, const Size& a, const Size& b) { return (a >= 0 && b >= 0) || result != 0; }

// As a fact.
bool is_within(const Size& size, int64_t limit) { return size <= limit && size >= -limit; }

}  // namespace

std::optional<SizeQuotient> SizeQuotient::of(double number) {
    constexpr int mantissa = 53, most = 62;
    if (!std::isfinite(number) || (number == 0 && std::signbit(number))) return std::nullopt;
    int exponent = 0;
    auto whole = static_cast<int64_t>(std::ldexp(std::frexp(number, &exponent), mantissa));
    exponent -= mantissa;
    if (whole == 0) return SizeQuotient();
    const int zeros = std::countr_zero(static_cast<uint64_t>(whole));
    whole >>= zeros;
    exponent += zeros;
    if (exponent > zeros || exponent < -most) return std::nullopt;  // more than the 53 bits, or too small a part
    return exponent >= 0 ? SizeQuotient(whole << exponent) : SizeQuotient(whole, int64_t{1} << -exponent);
}

bool SizeQuotient::is_exact() const { return is_power_of_two(below); }

std::string SizeQuotient::text() const {
    return below.same_as(1) ? above.text() : "(" + above.text() + ") / (" + below.text() + ")";
}

std::optional<SizeQuotient> FloatSizes::held(const std::optional<Size>& above, const std::optional<Size>& below) const {
    if (!above || !below || !(*below > 0)) return std::nullopt;
    SizeQuotient made(*above, *below);
    if (divides(*below, *above)) {
        made = floor_divide(*above, *below);
    } else if (!below->named()) {
        const int64_t common = std::gcd(above->factor(), below->number());
        made = {floor_divide(*above, common), floor_divide(*below, common)};
    }
    // Below this a quotient that is rounded lies on the same side of every whole number as the exact one: it is further from
    // them than the rounding.
    const int64_t limit = (int64_t{1} << bits_) - 1;
    return is_within(made.above, limit) && is_within(made.below, limit) ? std::optional(made) : std::nullopt;
}

std::optional<SizeQuotient> FloatSizes::converted(const SizeQuotient& a) const {
    return a.is_exact() ? held(a.above, a.below) : std::nullopt;
}

// Rounded to so many bits first, and then to the half of them, the quotient of two such numbers is what it is rounded to at once.
std::optional<SizeQuotient> FloatSizes::narrowed(const SizeQuotient& a) const { return held(a.above, a.below); }

std::optional<SizeQuotient> FloatSizes::add(const SizeQuotient& a, const SizeQuotient& b) const {
    if (!a.is_exact() || !b.is_exact()) return std::nullopt;
    const int64_t below = std::max(a.below.number(), b.below.number());
    const auto x = checked_multiply(a.above, below / a.below.number()), y = checked_multiply(b.above, below / b.below.number());
    return x && y ? held(checked_add(*x, *y), Size(below)) : std::nullopt;
}

std::optional<SizeQuotient> FloatSizes::subtract(const SizeQuotient& a, const SizeQuotient& b) const {
    const auto negative = checked_subtract(0, b.above);
    return negative ? add(a, {*negative, b.below}) : std::nullopt;
}

std::optional<SizeQuotient> FloatSizes::multiply(const SizeQuotient& a, const SizeQuotient& b) const {
    if (!a.is_exact() || !b.is_exact()) return std::nullopt;
    const auto above = checked_multiply(a.above, b.above);
    if (!above || !is_plain_zero(*above, a.above, b.above)) return std::nullopt;
    return held(above, checked_multiply(a.below, b.below));
}

std::optional<SizeQuotient> FloatSizes::divide(const SizeQuotient& a, const SizeQuotient& b) const {
    if (!a.is_exact() || !b.is_exact() || !(b.above > 0)) return std::nullopt;
    return held(checked_multiply(a.above, b.below), checked_multiply(a.below, b.above));
}

std::optional<SizeQuotient> FloatSizes::extreme(bool least, const SizeQuotient& a, const SizeQuotient& b) const {
    if (a.below.same_as(b.below))
        return SizeQuotient(least ? heddle::minimum(a.above, b.above) : heddle::maximum(a.above, b.above), a.below);
    const auto apart = difference(a, b);
    if (!apart) return std::nullopt;
    return (*apart < 0) == least ? a : b;
}

std::optional<SizeQuotient> FloatSizes::minimum(const SizeQuotient& a, const SizeQuotient& b) const { return extreme(true, a, b); }
std::optional<SizeQuotient> FloatSizes::maximum(const SizeQuotient& a, const SizeQuotient& b) const { return extreme(false, a, b); }

std::optional<Size> FloatSizes::difference(const SizeQuotient& a, const SizeQuotient& b) const {
    // Different quotients of numbers of half the bits are different floats.
    const int64_t limit = int64_t{1} << (bits_ / 2 - 1);
    for (const SizeQuotient* side : {&a, &b}) {
        if (!side->is_exact() && !(is_within(side->above, limit) && is_within(side->below, limit))) return std::nullopt;
    }
    const auto x = checked_multiply(a.above, b.below), y = checked_multiply(b.above, a.below);
    return x && y ? checked_subtract(*x, *y) : std::nullopt;
}

}  // namespace heddle
