// Real numbers that are made of sizes: what models make of a shape between a cast to floats and back. One quotient of two
// sizes says all that is followed: what is more than one rounding away from sizes is a number like any other.
#pragma once

#include <optional>
#include <string>

#include "zspace/size.h"

namespace heddle {

// above / below, rounded once to the floats that it is computed in.
struct SizeQuotient {
    Size above = 0, below = 1;  // the second is above zero

    SizeQuotient() = default;
    SizeQuotient(const Size& size) : above(size) {}  // NOLINT: a size is a quotient
    SizeQuotient(const Size& a, const Size& b) : above(a), below(b) {}
    // A float as it is; nothing for one that is no quotient of two integers of 64 bits.
    static std::optional<SizeQuotient> of(double number);

    bool named() const { return above.named() || below.named(); }
    bool same_as(const SizeQuotient& other) const { return above.same_as(other.above) && below.same_as(other.below); }
    // Here, as float64. No fact.
    double number() const { return static_cast<double>(above.number()) / static_cast<double>(below.number()); }
    // A fact from now on: what follows from it holds for this number only.
    double value() const { return static_cast<double>(above.value()) / static_cast<double>(below.value()); }
    // Whether rounding changes nothing, whatever the names are: halves, quarters and so on.
    bool is_exact() const;
    std::string text() const;  // "batch", "(3 * seq) / 4"

    // As integers; for a whole number of the first kind nothing is to be rounded.
    Size floor() const { return floor_divide(above, below); }
    Size ceil() const { return ceil_divide(above, below); }
    Size trunc() const { return above >= 0 ? floor() : ceil(); }
};

// Arithmetic of floats that hold whole numbers of so many bits (24, 53). Nothing where the result would not be one quotient, or
// sizes are so great that floats would not hold them. That they are not is a fact.
class FloatSizes {
public:
    explicit FloatSizes(int bits) : bits_(bits) {}
    std::optional<SizeQuotient> converted(const SizeQuotient& a) const;  // from narrower floats, or from an integer
    std::optional<SizeQuotient> narrowed(const SizeQuotient& a) const;   // from floats of twice as many bits or more
    std::optional<SizeQuotient> add(const SizeQuotient& a, const SizeQuotient& b) const;
    std::optional<SizeQuotient> subtract(const SizeQuotient& a, const SizeQuotient& b) const;
    std::optional<SizeQuotient> multiply(const SizeQuotient& a, const SizeQuotient& b) const;
    std::optional<SizeQuotient> divide(const SizeQuotient& a, const SizeQuotient& b) const;
    std::optional<SizeQuotient> minimum(const SizeQuotient& a, const SizeQuotient& b) const;
    std::optional<SizeQuotient> maximum(const SizeQuotient& a, const SizeQuotient& b) const;
    // With a fact: a - b compared with zero, as integers.
    std::optional<Size> difference(const SizeQuotient& a, const SizeQuotient& b) const;

private:
    std::optional<SizeQuotient> held(const std::optional<Size>& above, const std::optional<Size>& below) const;
    std::optional<SizeQuotient> extreme(bool least, const SizeQuotient& a, const SizeQuotient& b) const;

    int bits_;
};

}  // namespace heddle
