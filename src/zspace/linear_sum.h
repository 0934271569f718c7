// Sums of linear forms: a `constant`, and `terms` as pairs of a variable and its coefficient, sorted by variable, without
// zeros.
#pragma once

#include "zspace/checked.h"

namespace heddle {

// a + factor * b, or nothing on overflow.
template <typename Form>
std::optional<Form> linear_sum(const Form& a, const Form& b, int64_t factor) {
    Form result;
    auto scaled = checked_multiply(b.constant, factor);
    auto constant = scaled ? checked_add(a.constant, *scaled) : std::nullopt;
    if (!constant) return std::nullopt;
    result.constant = *constant;
    size_t i = 0, j = 0;
    while (i < a.terms.size() || j < b.terms.size()) {
        bool left = j == b.terms.size() || (i < a.terms.size() && a.terms[i].first < b.terms[j].first);
        bool both = !left && i < a.terms.size() && a.terms[i].first == b.terms[j].first;
        auto variable = left ? a.terms[i].first : b.terms[j].first;
        int64_t coefficient = left || both ? a.terms[i].second : 0;
        if (!left) {
            auto product = checked_multiply(b.terms[j].second, factor);
            auto sum = product ? checked_add(coefficient, *product) : std::nullopt;
            if (!sum) return std::nullopt;
            coefficient = *sum;
            ++j;
        }
        if (left || both) ++i;
        if (coefficient != 0) result.terms.emplace_back(variable, coefficient);
    }
    return result;
}

}  // namespace heddle
