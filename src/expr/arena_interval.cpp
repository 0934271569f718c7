#include "expr/arena_interval.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "expr/scalar_interval.h"
#include "zspace/checked.h"

namespace heddle::expr {
namespace {

// Of the lesser of two: it is at most any mean of them, and there is one in which an axis that goes up in one and down
// in the other cancels: min(x + 1, 2 n - x) <= n. `sign`: -1 for the greater of two, by its negative.
std::optional<Size> most_of_mean(Expr lesser, Expr other_one, int64_t sign) {
    const CoordinateForm a = linear_form(lesser), b = linear_form(other_one);
    for (const auto& [atom, up] : a.terms) {
        const auto other = std::ranges::find(b.terms, atom, &std::pair<Expr, Size>::first);
        if (other == b.terms.end() || (up < 0) == (other->second < 0)) continue;
        const Size down = other->second;
        if (up.number() == INT64_MIN || down.number() == INT64_MIN) return std::nullopt;
        const auto whole = checked_add(absolute(up), absolute(down));
        IntervalSum sum(0);
        std::vector<std::pair<Expr, Size>> others;  // what occurs in both may cancel, too
        for (const auto& [form, weight] : {std::pair(&a, absolute(down)), std::pair(&b, absolute(up))}) {
            sum.add(sign * weight, Interval::point(form->constant));
            for (const auto& [term, factor] : form->terms) {
                if (term == atom) continue;
                const auto seen = std::ranges::find(others, term, &std::pair<Expr, Size>::first);
                auto& total = seen == others.end() ? others.emplace_back(term, 0).second : seen->second;
                const auto weighted = checked_multiply(sign * weight, factor);
                const auto both = weighted ? checked_add(total, *weighted) : std::nullopt;
                if (!both) return std::nullopt;
                total = *both;
            }
        }
        for (const auto& [term, factor] : others) {
            if (factor != 0) sum.add(factor, interval(term));
        }
        const Interval mean = sum.interval();
        if (!whole || !mean.known_high()) return std::nullopt;
        return floor_divide(mean.high, *whole);
    }
    return std::nullopt;
}

// An upper bound of the lesser of two (with `sign` -1: of its negative, for the greater of two). Where one is itself
// the greater of two, it is the greater of what the other one makes of each: min(2 n - x, max(x, -x)) <= n.
std::optional<Size> most_of_lesser(Expr a, Expr b, int64_t sign) {
    const Kind opposite = sign > 0 ? Kind::maximum : Kind::minimum;
    if (b->kind != opposite) std::swap(a, b);
    if (b->kind != opposite) return most_of_mean(a, b, sign);
    std::optional<Size> most = INT64_MIN;
    for (Expr part : b->parts()) {
        const Interval x = interval(a), y = interval(part);
        if (!x.known() || !y.known()) return std::nullopt;
        Size lesser = sign > 0 ? std::min(x.high, y.high) : -std::max(x.low, y.low);
        if (const auto mean = most_of_mean(a, part, sign)) lesser = std::min(lesser, *mean);
        most = std::max(*most, lesser);
    }
    return most;
}

Interval lesser_of(const Interned& e) {
    const Expr a = e.parts()[0], b = e.parts()[1];
    Interval range = heddle::minimum(interval(a), interval(b));
    if (const auto most = most_of_lesser(a, b, 1); most && range.known()) range.high = std::min(range.high, *most);
    return range;
}

Interval greater_of(const Interned& e) {
    const Expr a = e.parts()[0], b = e.parts()[1];
    Interval range = heddle::maximum(interval(a), interval(b));
    if (const auto most = most_of_lesser(a, b, -1); most && range.known()) range.low = std::max(range.low, -*most);
    return range;
}

// By a literal of the text, as steps that are kept in turn are.
Interval divided(const Interned& e) {
    const bool quotient = e.op == ScalarOp::floor_divide;
    if (!quotient && e.op != ScalarOp::modulo) return {};
    const Expr divisor = e.parts()[1];
    if (divisor->kind != Kind::integer || !divisor->from_template || divisor->integer < 1) return {};
    const Interval range = interval(e.parts()[0]), by = Interval::point(divisor->integer);
    return quotient ? heddle::floor_divide(range, by) : floor_modulo(range, by);
}

}  // namespace

Interval interval_of(const Interned& expression) {
    if (expression.dtype != DType::int64) return {};
    auto operand = [&](size_t i) { return interval(expression.parts()[i]); };
    const Interval literal = Interval::point(expression.integer);
    switch (expression.kind) {
    case Kind::integer: return literal;
    case Kind::variable: return Interval::below(heddle::maximum(expression.arena->extent(expression.axis()), 1));
    case Kind::linear: {
        IntervalSum sum(expression.integer);
        for (size_t i = 0; i < expression.operands.size(); i++) sum.add(expression.coefficients[i], operand(i));
        return sum.interval();
    }
    case Kind::floor_divide: return heddle::floor_divide(operand(0), literal);
    case Kind::modulo: return floor_modulo(operand(0), literal);
    case Kind::minimum: return lesser_of(expression);
    case Kind::maximum: return greater_of(expression);
    case Kind::select: return hull(operand(1), operand(2));
    case Kind::scalar: return divided(expression);
    case Kind::cast: return heddle::interval_of(expression.parts()[0]->dtype);
    default: return {};
    }
}

}  // namespace heddle::expr
