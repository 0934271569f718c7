// Equations of linear forms, solved: for one of the atoms, and for all at once where they are the digits of a number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "support/inline_vector.h"
#include "zspace/checked.h"
#include "zspace/linear_form.h"

namespace heddle {

// The v with  factor * v == rest,  over the integers or, where `period` is positive, modulo it:
//
//     v == multiplier * (rest / divisor)   modulo `step`; step 0: this one alone
//
// and none where `divisor` does not divide rest. 0 <= multiplier < step, or it is 1 or -1.
struct LinearSolution {
    int64_t divisor = 1, multiplier = 1, step = 0;

    bool operator==(const LinearSolution&) const = default;
};
// Neither number is INT64_MIN, and the factor is not 0. Extended Euclid.
LinearSolution solution_for(int64_t factor, int64_t period = 0);

// The atom of a form  atom + constant: it is what the form is less the constant. Nothing of any other form.
template <typename Atom>
std::optional<Atom> lone_atom(const LinearForm<Atom>& form) {
    if (form.terms.size() != 1 || !form.terms[0].second.same_as(1)) return std::nullopt;
    return form.terms[0].first;
}

// One term of a sum: factor * atom, 0 <= atom < extent.
template <typename Atom>
struct RadixDigit {
    Atom atom;
    Size factor = 1, extent = 1;
    bool reversed = false;  // of a mixed radix: its factor was negative, and the digit is extent - 1 - atom
};

template <typename Atom>
using RadixDigits = InlineVector<RadixDigit<Atom>, 4>;

// Whether a sum of terms, less its least value, takes each value of 0 <= value < extent once: sorted by the size of the
// factor, the first is 1 and each other one the product of the extents before it. Then a digit is value // factor %
// extent, and it is the atom, or the other way round.
template <typename Atom>
struct MixedRadix {
    RadixDigits<Atom> digits;  // innermost first
    size_t fitting = 0;        // of them, from the innermost on, that are as said
    Size extent = 1;           // the product of their extents: the factor that the next one must have

    bool fits() const { return fitting == digits.size(); }
};

template <typename Atom>
MixedRadix<Atom> mixed_radix(RadixDigits<Atom> digits) {
    MixedRadix<Atom> radix{std::move(digits)};
    for (RadixDigit<Atom>& digit : radix.digits) {
        digit.reversed = digit.factor < 0;
        if (digit.reversed && digit.factor.number() != INT64_MIN) digit.factor = -digit.factor;
    }
    std::ranges::sort(radix.digits, {}, [](const auto& d) { return std::pair(d.factor.number(), d.extent.number()); });
    for (const RadixDigit<Atom>& digit : radix.digits) {
        const auto next = checked_multiply(radix.extent, digit.extent);
        if (digit.factor != radix.extent || !next) break;
        radix.extent = *next;
        ++radix.fitting;
    }
    return radix;
}

}  // namespace heddle
