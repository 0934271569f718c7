// Linear forms: a constant and multiples of atoms (variables, or whatever a coordinate is made of).
#pragma once

#include <utility>

#include "support/inline_vector.h"
#include "zspace/interval.h"
#include "zspace/size.h"

namespace heddle {

// constant + sum of coefficient * atom; no atom twice, no coefficient zero whatever the names are.
template <typename Atom>
struct LinearForm {
    Size constant = 0;
    InlineVector<std::pair<Atom, Size>, 4> terms;

    Size coefficient(Atom wanted) const {
        for (const auto& [atom, factor] : terms) {
            if (atom == wanted) return factor;
        }
        return 0;
    }
    bool operator==(const LinearForm&) const = default;
};

// The values of a form whose atoms have the values range_of(atom).
template <typename Atom, typename RangeOf>
Interval interval_of(const LinearForm<Atom>& form, RangeOf range_of) {
    IntervalSum sum(form.constant);
    for (const auto& [atom, factor] : form.terms) sum.add(factor, range_of(atom));
    return sum.interval();
}

// a + factor * b, or nothing on overflow. Terms are sorted by atom.
template <typename Atom>
std::optional<LinearForm<Atom>> linear_sum(const LinearForm<Atom>& a, const LinearForm<Atom>& b, const Size& factor) {
    LinearForm<Atom> result;
    auto scaled = checked_multiply(b.constant, factor);
    auto constant = scaled ? checked_add(a.constant, *scaled) : std::nullopt;
    if (!constant) return std::nullopt;
    result.constant = *constant;
    size_t i = 0, j = 0;
    while (i < a.terms.size() || j < b.terms.size()) {
        bool left = j == b.terms.size() || (i < a.terms.size() && a.terms[i].first < b.terms[j].first);
        bool both = !left && i < a.terms.size() && a.terms[i].first == b.terms[j].first;
        auto atom = left ? a.terms[i].first : b.terms[j].first;
        Size coefficient = left || both ? a.terms[i].second : Size(0);
        if (!left) {
            auto product = checked_multiply(b.terms[j].second, factor);
            auto sum = product ? checked_add(coefficient, *product) : std::nullopt;
            if (!sum) return std::nullopt;
            coefficient = *sum;
            ++j;
        }
        if (left || both) ++i;
        if (!coefficient.same_as(0)) result.terms.emplace_back(atom, coefficient);
    }
    return result;
}

}  // namespace heddle
