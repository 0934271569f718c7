// What is known of a size whatever its names are, or whatever sizes of their classes they are.
#include "zspace/origin_bounds.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "zspace/checked.h"
#include "zspace/size_class.h"

namespace heddle {
namespace {

using Kind = Origin::Kind;
using Term = Origin::Term;

OriginPointer times(OriginPointer a, int64_t factor) { return Origin::of(Kind::multiply, a, Origin::of_constant(factor)); }
OriginPointer plus(OriginPointer a, OriginPointer b) { return Origin::of(Kind::add, a, b); }

// A size that is not above `scale` times another one.
struct LowerBound {
    OriginPointer size;
    int64_t scale = 1;
};

// Of a multiple of an operation, by its operands.
std::vector<LowerBound> lower_bounds(const Term& term) {
    if (term.atoms.size() != 1) return {};
    const OriginPointer atom = term.atoms[0], a = atom->left(), b = atom->right();
    const int64_t divisor = b && b->is_constant() ? b->constant_value() : 0;
    const bool above = term.coefficient > 0;
    switch (atom->kind()) {
    case Kind::floor_divide:  // between (a - divisor + 1) / divisor and a / divisor
        if (divisor <= 0) return {};
        return {{times(above ? plus(a, Origin::of_constant(1 - divisor)) : a, term.coefficient), divisor}};
    case Kind::modulo:
        if (divisor <= 0) return {};
        return {{times(Origin::of_constant(above ? 0 : divisor - 1), term.coefficient)}};
    case Kind::minimum:
        if (above) return {};
        return {{times(a, term.coefficient)}, {times(b, term.coefficient)}};
    case Kind::maximum:
        if (!above) return {};
        return {{times(a, term.coefficient)}, {times(b, term.coefficient)}};
    default: return {};
    }
}

bool has_no_part_below_zero(const Origin& sum) {
    return sum.constant_value() >= 0 && std::ranges::all_of(sum.terms(), [](const Term& term) {
               return term.coefficient > 0 && std::ranges::all_of(term.atoms, &Origin::is_never_negative);
           });
}

// `of_name`: the interval of a name.
template <typename OfName>
Interval bounds(OriginPointer origin, const OfName& of_name) {
    if (origin->is_constant()) return Interval::point(origin->constant_value());
    if (origin->kind() == Kind::name) return of_name(origin->text());
    if (origin->kind() == Kind::sum) {
        Interval result = Interval::point(origin->constant_value());
        for (const Term& term : origin->terms()) {
            Interval part = Interval::point(term.coefficient);
            for (OriginPointer atom : term.atoms) part = part * bounds(atom, of_name);
            result = result + part;
        }
        return result;
    }
    const Interval a = bounds(origin->left(), of_name), b = bounds(origin->right(), of_name);
    switch (origin->kind()) {
    case Kind::add: return a + b;
    case Kind::subtract: return a - b;
    case Kind::multiply: return a * b;
    case Kind::floor_divide: return floor_divide(a, b);
    case Kind::modulo: return floor_modulo(a, b);
    case Kind::minimum: return heddle::minimum(a, b);
    default: return heddle::maximum(a, b);
    }
}

constexpr int64_t greatest_scale = 1 << 20;

// The floor of a part of it, which is below zero where it is; null: its terms have no common factor.
OriginPointer without_common_factor(const Origin& sum) {
    int64_t factor = 0;
    for (const Term& term : sum.terms()) factor = std::gcd(factor, term.coefficient);
    if (factor <= 1) return nullptr;
    const OriginPointer constant = Origin::of_constant(sum.constant_value());
    const OriginPointer products = Origin::of(Kind::subtract, &sum, constant);
    return plus(Origin::of(Kind::floor_divide, products, Origin::of_constant(factor)),
                Origin::of_constant(floor_divide(sum.constant_value(), factor)));
}

// Whether `sum` > -`scale`: operations give way to their bounds, first those that are subtracted.
bool is_above(OriginPointer sum, int64_t scale) {
    const OriginPointer raised = plus(sum, Origin::of_constant(scale - 1));
    if (raised->kind() != Kind::sum) return raised->is_never_negative();
    if (const OriginPointer whole = without_common_factor(*raised)) return whole->is_never_negative();
    if (has_no_part_below_zero(*raised)) return true;
    for (const bool subtracted : {true, false}) {
        for (const Term& term : sum->terms()) {
            if ((term.coefficient < 0) != subtracted) continue;
            const auto bounds = lower_bounds(term);
            if (bounds.empty()) continue;
            return std::ranges::any_of(bounds, [&](const LowerBound& bound) {
                if (bound.scale > greatest_scale / scale) return false;
                const OriginPointer others = plus(sum, times(term.atoms[0], -term.coefficient));
                return is_above(plus(times(others, bound.scale), bound.size), scale * bound.scale);
            });
        }
    }
    return false;
}

}  // namespace

bool Origin::is_never_negative() const {
    switch (kind_) {
    case Kind::constant: return constant_ >= 0;
    case Kind::name: return true;
    case Kind::sum: {
        thread_local std::unordered_map<OriginPointer, bool> known;  // the same is asked for again and again
        if (const auto found = known.find(this); found != known.end()) return found->second;
        return known[this] = is_above(this, 1);
    }
    case Kind::modulo: return b_->is_constant() && b_->constant_ > 0;
    case Kind::maximum: return a_->is_never_negative() || b_->is_never_negative();
    default: return kind_ != Kind::subtract && a_->is_never_negative() && b_->is_never_negative();
    }
}

Interval Origin::within_class(const std::map<std::string, int64_t>& representatives) const {
    return bounds(this, [&](const std::string& name) -> Interval {
        const auto found = representatives.find(name);
        if (found == representatives.end()) return {};
        const SizeClass sizes = size_class(found->second);
        return {sizes.least, sizes.most};
    });
}

Interval bounds_within(OriginPointer origin, const std::map<std::string, Interval>& names) {
    return bounds(origin, [&](const std::string& name) {
        const auto found = names.find(name);
        return found == names.end() ? Interval{} : found->second;
    });
}

std::optional<bool> known_within(SizeFact::Relation relation, const Interval& bounds) {
    using Relation = SizeFact::Relation;
    const auto low = [&](int64_t least) { return bounds.known_low() && bounds.low.number() >= least; };
    const auto high = [&](int64_t most) { return bounds.known_high() && bounds.high.number() <= most; };
    if (relation == Relation::not_negative) return low(0) ? std::optional(true) : high(-1) ? std::optional(false) : std::nullopt;
    const bool is_zero = relation == Relation::zero;
    if (low(1) || high(-1)) return !is_zero;
    return low(0) && high(0) ? std::optional(is_zero) : std::nullopt;
}

bool is_never_negative(OriginPointer origin, const std::map<std::string, int64_t>& representatives) {
    return origin->is_never_negative() ||
           known_within(SizeFact::Relation::not_negative, origin->within_class(representatives)) == true;
}

}  // namespace heddle
