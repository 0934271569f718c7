// Interned linear arithmetic on coordinates. The rules, from docs/equations.md:
//   floor(c + sum q a, B): terms with B | q come out; a rest in [0, B) is 0, inside one period a constant;
//     terms g | q with g | B and a remainder in [0, g) give floor(rest / g, B / g);
//     floor(floor(x, A), B) = floor(x, A B)
//   mod likewise;  q B floor(x, B) + q mod(x, B) = q x;  q x - q mod(x, B) = q B floor(x, B);
//   g H + L < 0 with 0 <= L < g  <=>  H < 0
// Arithmetic on constants and coefficients wraps, as the int64 arithmetic that it stands for does; intervals know when.
#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "expr/arena_interval.h"
#include "expr/arena.h"
#include "expr/coordinate.h"
#include "zspace/checked.h"
#include "zspace/class_order.h"

namespace heddle::expr {
namespace {

using Terms = decltype(CoordinateForm::terms);

struct Split {
    Terms multiples;  // divided by the divisor
    Terms rest;
};

Split split_by(const Terms& terms, const Size& divisor) {
    Split result;
    for (const auto& [atom, factor] : terms) {
        if (divides(divisor, factor))
            result.multiples.emplace_back(atom, heddle::floor_divide(factor, divisor));
        else
            result.rest.emplace_back(atom, factor);
    }
    return result;
}

// A quotient and its remainder; what lies in the first period stays as it is.
std::pair<Size, Size> divided(const Size& constant, const Size& divisor) {
    if (constant >= 0 && constant < divisor) return {0, constant};
    return {floor_divide(constant, divisor), floor_modulo(constant, divisor)};
}

// Divisors worth a try, greatest first: magnitudes of coefficients, and their common one. Of named ones only what is
// above 0.
std::vector<Size> common_divisors(const Terms& terms) {
    std::vector<Size> result;
    int64_t common = 0;
    for (const auto& [atom, factor] : terms) {
        if (factor.number() == INT64_MIN) continue;
        common = std::gcd(common, factor.factor());
        if (std::abs(factor.number()) > 1) result.push_back(factor.number() < 0 ? -factor : factor);
    }
    if (common > 1) result.push_back(common);
    std::ranges::stable_sort(result, std::greater<>(), &Size::number);
    result.erase(std::unique(result.begin(), result.end(), [](const Size& a, const Size& b) { return a.same_as(b); }),
                 result.end());
    std::erase_if(result, [](const Size& divisor) { return divisor < 1; });
    return result;
}

}  // namespace

Expr Arena::linear(const Size& given, Terms terms) {
    std::sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) { return a.first->id < b.first->id; });
    Size constant = given;
    do {
        size_t kept = 0;
        for (size_t i = 0; i < terms.size();) {
            auto [atom, factor] = terms[i];
            for (i++; i < terms.size() && terms[i].first == atom; i++) factor = factor + terms[i].second;
            if (!factor.same_as(0)) terms[kept++] = {atom, factor};
        }
        terms.resize(kept);
    } while (canonical_ && recombine(constant, terms));
    if (terms.empty()) return integer(constant);
    if (constant.same_as(0) && terms.size() == 1 && terms[0].second.same_as(1)) return terms[0].first;
    Expression sum{.kind = Kind::linear, .dtype = DType::int64, .integer = constant};
    std::vector<Size> coefficients;
    for (const auto& [atom, factor] : terms) {
        sum.operands.push_back(atom->id);
        coefficients.push_back(factor);
    }
    return intern(std::move(sum), std::move(coefficients));
}

// One step of q B floor(z, B) + q mod(z, B) = q z or q z - q mod(z, B) = q B floor(z, B); leaves the terms sorted by
// atom, atoms possibly twice.
bool Arena::recombine(Size& constant, Terms& terms) {
    auto by_id = [](const auto& a, const auto& b) { return a.first->id < b.first->id; };
    for (size_t i = 0; i < terms.size(); i++) {
        const auto [remainder, factor] = terms[i];
        if (remainder->kind != Kind::modulo || factor.number() == INT64_MIN) continue;
        const CoordinateForm dividend = linear_form(remainder->parts()[0]);
        const bool subtracted =
            std::all_of(dividend.terms.begin(), dividend.terms.end(), [&, q = Size(factor)](const auto& term) {
                const std::pair<Expr, Size> wanted = {term.first, -q * term.second};
                return std::binary_search(terms.begin(), terms.end(), wanted, by_id) &&
                       std::lower_bound(terms.begin(), terms.end(), wanted, by_id)->second.same_as(wanted.second);
            });
        if (subtracted) {
            const CoordinateForm quotient = linear_form(floor_divide(remainder->parts()[0], remainder->integer));
            const Size back = -factor * remainder->integer;
            terms.erase(terms.begin() + i);
            for (const auto& [atom, q] : dividend.terms) terms.emplace_back(atom, factor * q);
            constant = constant + factor * dividend.constant;
            constant = constant + back * quotient.constant;
            for (const auto& [atom, q] : quotient.terms) terms.emplace_back(atom, back * q);
            std::sort(terms.begin(), terms.end(), by_id);
            return true;
        }
        const Size wanted = factor * remainder->integer;
        for (size_t j = 0; j < terms.size(); j++) {
            if (i == j || !terms[j].second.same_as(wanted)) continue;
            if (floor_divide(remainder->parts()[0], remainder->integer) != terms[j].first) continue;
            terms.erase(terms.begin() + std::max(i, j));
            terms.erase(terms.begin() + std::min(i, j));
            constant = constant + factor * dividend.constant;
            for (const auto& [atom, q] : dividend.terms) terms.emplace_back(atom, factor * q);
            std::sort(terms.begin(), terms.end(), by_id);
            return true;
        }
    }
    return false;
}

Expr Arena::add(Expr a, Expr b, const Size& scale) {
    assert(a->dtype == DType::int64 && b->dtype == DType::int64);
    CoordinateForm sum = linear_form(a);
    const CoordinateForm other = linear_form(b);
    for (const auto& [atom, factor] : other.terms) sum.terms.emplace_back(atom, factor * scale);
    return linear(sum.constant + other.constant * scale, std::move(sum.terms));
}

Expr Arena::scale(Expr a, const Size& factor) { return add(integer(0), a, factor); }

Expr Arena::floor_divide(Expr a, const Size& divisor) { return divide(Kind::floor_divide, a, divisor); }
Expr Arena::modulo(Expr a, const Size& divisor) { return divide(Kind::modulo, a, divisor); }

Expr Arena::divide(Kind kind, Expr a, const Size& divisor) {
    assert(divisor > 0 && a->dtype == DType::int64);
    if (!canonical_) return division(kind, a, divisor);
    const bool quotient = kind == Kind::floor_divide;
    if (divisor.same_as(1)) return quotient ? a : integer(0);
    if (a->kind == Kind::integer) {
        return integer(quotient ? heddle::floor_divide(a->integer, divisor) : floor_modulo(a->integer, divisor));
    }
    const std::tuple key(kind, a->id, divisor.number(), divisor.origin());
    if (auto found = divisions_.find(key); found != divisions_.end()) return found->second;
    Expr result = quotient ? make_floor_divide(a, divisor) : make_modulo(a, divisor);
    divisions_[key] = result;
    return result;
}

Expr Arena::division(Kind kind, Expr a, const Size& divisor) {
    return intern({.kind = kind, .dtype = DType::int64, .integer = divisor, .operands = {a->id}});
}

Expr Arena::make_floor_divide(Expr a, const Size& divisor) {
    const CoordinateForm form = linear_form(a);
    const Split split = split_by(form.terms, divisor);
    const auto [periods, constant] = divided(form.constant, divisor);
    Expr whole = linear(periods, split.multiples);
    Expr rest = linear(constant, split.rest);
    const Interval range = interval(rest);
    if (range.known() && heddle::floor_divide(range.low, divisor) == heddle::floor_divide(range.high, divisor)) {
        return add(whole, integer(heddle::floor_divide(range.low, divisor)));
    }
    if (rest != a) return add(whole, floor_divide(rest, divisor));
    for (const Size& common : common_divisors(split.rest)) {
        if (common.number() >= divisor.number() || !divides(common, divisor)) continue;
        const Split finer = split_by(split.rest, common);
        if (finer.multiples.empty()) continue;
        Expr low = linear(floor_modulo(constant, common), finer.rest);
        if (!interval(low).within(0, common - 1)) continue;
        return floor_divide(linear(heddle::floor_divide(constant, common), finer.multiples),
                            heddle::floor_divide(divisor, common));
    }
    if (rest->kind == Kind::floor_divide) {
        if (auto product = checked_multiply(rest->integer, divisor)) return floor_divide(rest->parts()[0], *product);
    }
    if (rest->kind == Kind::modulo && divides(divisor, rest->integer)) {
        return modulo(floor_divide(rest->parts()[0], divisor), heddle::floor_divide(rest->integer, divisor));
    }
    return division(Kind::floor_divide, rest, divisor);
}

Expr Arena::make_modulo(Expr a, const Size& divisor) {
    const CoordinateForm form = linear_form(a);
    const Split split = split_by(form.terms, divisor);
    const Size constant = divided(form.constant, divisor).second;
    Expr rest = linear(constant, split.rest);
    const Interval range = interval(rest);
    if (range.known() && heddle::floor_divide(range.low, divisor) == heddle::floor_divide(range.high, divisor)) {
        return add(rest, integer(-(heddle::floor_divide(range.low, divisor) * divisor)));
    }
    if (rest != a) return modulo(rest, divisor);
    for (const Size& common : common_divisors(split.rest)) {
        if (common.number() >= divisor.number() || !divides(common, divisor)) continue;
        const Split finer = split_by(split.rest, common);
        if (finer.multiples.empty()) continue;
        Expr low = linear(floor_modulo(constant, common), finer.rest);
        if (!interval(low).within(0, common - 1)) continue;
        Expr high = linear(heddle::floor_divide(constant, common), finer.multiples);
        return add(low, modulo(high, heddle::floor_divide(divisor, common)), common);
    }
    if (rest->kind == Kind::modulo && divides(divisor, rest->integer)) return modulo(rest->parts()[0], divisor);
    return division(Kind::modulo, rest, divisor);
}

Expr Arena::minimum(Expr a, Expr b) {
    const Interval x = interval(a), y = interval(b);
    if (canonical_) {
        if (a == b || (x.known_high() && y.known_low() && x.high <= y.low)) return a;
        if (x.known_low() && y.known_high() && y.high <= x.low) return b;
        if (b->id < a->id) std::swap(a, b);
    }
    return intern({.kind = Kind::minimum, .dtype = DType::int64, .operands = {a->id, b->id}});
}

Expr Arena::maximum(Expr a, Expr b) {
    const Interval x = interval(a), y = interval(b);
    if (canonical_) {
        if (a == b || (x.known_low() && y.known_high() && x.low >= y.high)) return a;
        if (x.known_high() && y.known_low() && y.low >= x.high) return b;
        if (b->id < a->id) std::swap(a, b);
    }
    return intern({.kind = Kind::maximum, .dtype = DType::int64, .operands = {a->id, b->id}});
}

namespace {

// What `way` < 0 chooses of two, if it goes up or down with their difference: the lesser, the greater.
std::optional<Kind> extreme_by(Expr way, Expr difference) {
    if (!interval(way).known() || !interval(difference).known()) return std::nullopt;
    const CoordinateForm chooses = linear_form(way), apart = linear_form(difference);
    if (chooses.terms.empty() || apart.terms.size() != chooses.terms.size()) return std::nullopt;
    const Size times = apart.terms[0].second / chooses.terms[0].second;
    for (size_t i = 0; i < apart.terms.size(); i++) {
        const auto& [atom, factor] = chooses.terms[i];
        const auto multiple = checked_multiply(factor, times);
        if (apart.terms[i].first != atom || multiple != apart.terms[i].second) return std::nullopt;
    }
    // Both are one at way = 0, or between -1 and 0.
    const auto there = checked_multiply(chooses.constant, times);
    const auto rest = there ? checked_subtract(apart.constant, *there) : std::nullopt;
    if (!rest || *rest < std::min(Size(0), times) || *rest > std::max(Size(0), times)) return std::nullopt;
    if (times == 0) return std::nullopt;
    return times > 0 ? Kind::maximum : Kind::minimum;
}

}  // namespace

// way < 0 ? below : above as the lesser or the greater of both, as in i < 0 ? -i : i. A part of one of them that is
// beyond the other one stays outside: i < 0 ? -i : min(i, n - i) is min(n - i, max(i, -i)). Null where it is neither.
Expr Arena::extreme_of(Expr way, Expr below, Expr above) {
    const auto joined = [&](Kind kind, Expr a, Expr b) {
        return kind == Kind::minimum ? minimum(a, b) : maximum(a, b);
    };
    if (const auto kind = extreme_by(way, add(above, below, -1))) return joined(*kind, below, above);
    for (const bool second : {true, false}) {
        Expr outer = second ? above : below, other = second ? below : above;
        if (outer->kind != Kind::minimum && outer->kind != Kind::maximum) continue;
        for (size_t k = 0; k < 2; k++) {
            Expr beyond = outer->parts()[k], inner = outer->parts()[1 - k];
            const Interval apart = interval(add(beyond, other, -1));
            if (!apart.known() || (outer->kind == Kind::minimum ? apart.low < 0 : apart.high > 0)) continue;
            const auto kind = extreme_by(way, second ? add(inner, other, -1) : add(other, inner, -1));
            if (kind) return joined(outer->kind, beyond, joined(*kind, inner, other));
        }
    }
    return nullptr;
}

Expr Arena::less(Expr a, Expr b) {
    auto negative = [&](Expr d) {
        return intern({.kind = Kind::negative, .dtype = DType::boolean, .operands = {d->id}});
    };
    if (!canonical_) return negative(add(a, b, -1));
    const Interval x = interval(a), y = interval(b);
    if (x.known_high() && y.known_low() && is_always_below(x.high, y.low)) return truth(true);
    if (x.known_low() && y.known_high() && is_never_above(y.high, x.low)) return truth(false);
    Expr difference = add(a, b, -1);
    const CoordinateForm form = linear_form(difference);
    // What may overflow is left as it is: dividing would undo the wrap.
    const std::vector<Size> divisors =
        interval(difference).known() ? common_divisors(form.terms) : std::vector<Size>();
    for (const Size& common : divisors) {
        const Split split = split_by(form.terms, common);
        Expr low = linear(floor_modulo(form.constant, common), split.rest);
        if (split.multiples.empty() || !interval(low).within(0, common - 1)) continue;
        difference = linear(heddle::floor_divide(form.constant, common), split.multiples);
        break;
    }
    const Interval range = interval(difference);
    if (range.known_high() && is_always_below(range.high, 0)) return truth(true);
    if (range.known_low() && is_never_above(0, range.low)) return truth(false);
    return negative(difference);
}

Expr Arena::inside(Expr coordinate, const Size& extent) {
    if (!canonical_) {
        const DType truth = DType::boolean;
        return intern({.kind = Kind::inside, .dtype = truth, .integer = extent, .operands = {coordinate->id}});
    }
    return conjunction(less(integer(-1), coordinate), less(coordinate, integer(extent)));
}

Expr coordinate_of(Arena& arena, ScalarOp op, Expr a, Expr b) {
    const Size divisor = b && b->kind == Kind::integer ? b->integer : Size(0);
    const bool not_negative = interval(a).known_low() && a->low >= 0;
    auto next = [&](Expr e) { return arena.add(e, arena.integer(1)); };
    auto equal = [&] { return arena.conjunction(arena.less(a, next(b)), arena.less(b, next(a))); };
    switch (op) {
    case ScalarOp::add: return arena.add(a, b);
    case ScalarOp::subtract: return arena.add(a, b, -1);
    case ScalarOp::negate: return arena.scale(a, -1);
    case ScalarOp::multiply:
        if (b->kind == Kind::integer) return arena.scale(a, b->integer);
        return a->kind == Kind::integer ? arena.scale(b, a->integer) : nullptr;
    case ScalarOp::floor_divide: return divisor > 0 ? arena.floor_divide(a, divisor) : nullptr;
    case ScalarOp::modulo: return divisor > 0 ? arena.modulo(a, divisor) : nullptr;
    case ScalarOp::truncate_divide: return divisor > 0 && not_negative ? arena.floor_divide(a, divisor) : nullptr;
    case ScalarOp::truncate_remainder: return divisor > 0 && not_negative ? arena.modulo(a, divisor) : nullptr;
    case ScalarOp::minimum: return arena.minimum(a, b);
    case ScalarOp::maximum: return arena.maximum(a, b);
    case ScalarOp::absolute: return arena.maximum(a, arena.scale(a, -1));
    case ScalarOp::less: return arena.less(a, b);
    case ScalarOp::less_equal: return arena.less(a, next(b));
    case ScalarOp::greater: return arena.less(b, a);
    case ScalarOp::greater_equal: return arena.less(b, next(a));
    case ScalarOp::equal: return equal();
    case ScalarOp::not_equal: return arena.scalar(ScalarOp::logical_not, DType::boolean, {equal()});
    default: return nullptr;
    }
}

ScalarOp operation_of(const Expression& e) {
    switch (e.kind) {
    case Kind::floor_divide: return ScalarOp::floor_divide;
    case Kind::modulo: return ScalarOp::modulo;
    case Kind::minimum: return ScalarOp::minimum;
    case Kind::maximum: return ScalarOp::maximum;
    case Kind::negative: return ScalarOp::less;
    case Kind::conjunction: return ScalarOp::logical_and;
    default: return e.op;
    }
}

}  // namespace heddle::expr
