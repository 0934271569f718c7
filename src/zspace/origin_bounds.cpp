// What is known of a size whatever its names are, or whatever sizes of their classes they are.
#include <algorithm>
#include <unordered_map>

#include "zspace/interval.h"
#include "zspace/origin.h"
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

constexpr int64_t greatest_scale = 1 << 20;

// Whether `sum` > -`scale`: operations give way to their bounds, first those that are subtracted.
bool is_above(OriginPointer sum, int64_t scale) {
    const OriginPointer raised = plus(sum, Origin::of_constant(scale - 1));
    if (raised->kind() != Kind::sum) return raised->is_never_negative();
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
    if (kind_ == Kind::constant) return Interval::point(constant_);
    if (kind_ == Kind::name) {
        const auto found = representatives.find(name_);
        if (found == representatives.end()) return {};
        const SizeClass sizes = size_class(found->second);
        return {sizes.least, sizes.most};
    }
    if (kind_ == Kind::sum) {
        Interval result = Interval::point(constant_);
        for (const Term& term : terms_) {
            Interval part = Interval::point(term.coefficient);
            for (OriginPointer atom : term.atoms) part = part * atom->within_class(representatives);
            result = result + part;
        }
        return result;
    }
    const Interval a = a_->within_class(representatives), b = b_->within_class(representatives);
    switch (kind_) {
    case Kind::add: return a + b;
    case Kind::subtract: return a - b;
    case Kind::multiply: return a * b;
    case Kind::floor_divide: return floor_divide(a, b);
    case Kind::modulo: return floor_modulo(a, b);
    case Kind::minimum: return heddle::minimum(a, b);
    default: return heddle::maximum(a, b);
    }
}

}  // namespace heddle
