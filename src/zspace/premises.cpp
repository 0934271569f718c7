#include "zspace/premises.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <numeric>

#include "zspace/checked.h"

namespace heddle {
namespace {

using Kind = Origin::Kind;

constexpr int most_steps = 800;
constexpr int deepest = 60;

// a = divisor * first + second, where second's coefficients are not negative and below the divisor.
std::pair<Polynomial, Polynomial> split(const Polynomial& a, int64_t divisor) {
    Polynomial whole, rest;
    for (const auto& [product, coefficient] : a.terms()) {
        Polynomial one(1);
        for (Atom atom : product) one = one * Polynomial::of_atom(atom);
        whole = whole + one * floor_divide(coefficient, divisor);
        rest = rest + one * floor_modulo(coefficient, divisor);
    }
    return {whole, rest};
}

}  // namespace

Atom Premises::atom(std::string name) {
    atoms_.push_back({.name = std::move(name)});
    return static_cast<Atom>(atoms_.size()) - 1;
}

std::string Premises::text(const Polynomial& value) const {
    std::string text;
    for (const auto& [product, coefficient] : value.terms()) {
        if (!text.empty()) text += coefficient < 0 ? " - " : " + ";
        const int64_t amount = text.empty() ? coefficient : std::abs(coefficient);
        if (amount != 1 || product.empty()) text += std::to_string(amount);
        for (size_t i = 0; i < product.size(); i++)
            text += (i > 0 || amount != 1 ? " * " : "") + atoms_[static_cast<size_t>(product[i])].name;
    }
    return text.empty() ? "0" : text;
}

Polynomial Premises::of(const Size& size) { return size.named() ? of(size.origin()) : Polynomial(size.number()); }

Polynomial Premises::of(OriginPointer origin) {
    if (const auto known = origins_.find(origin); known != origins_.end()) return known->second;
    Polynomial result = replaced(made(origin));
    return origins_[origin] = std::move(result);
}

Polynomial Premises::replaced(Polynomial value) const {
    for (const auto& [atom, other] : replaced_) {
        if (value.has(atom)) value = value.with(atom, other);
    }
    return value;
}

Polynomial Premises::made(OriginPointer origin) {
    Polynomial result;
    switch (origin->kind()) {
    case Kind::constant: result = origin->constant_value(); break;
    case Kind::name: {
        const auto known = names_.find(origin->text());
        const Atom name = known == names_.end() ? atom(origin->text()) : known->second;
        names_.emplace(origin->text(), name);
        result = Polynomial::of_atom(name);
        made(result).is_name = true;
        break;
    }
    case Kind::sum:
        result = origin->constant_value();
        for (const Origin::Term& term : origin->terms()) {
            Polynomial product = term.coefficient;
            for (OriginPointer factor : term.atoms) product = product * of(factor);
            result = result + product;
        }
        break;
    case Kind::add: result = of(origin->left()) + of(origin->right()); break;
    case Kind::subtract: result = of(origin->left()) - of(origin->right()); break;
    case Kind::multiply: result = of(origin->left()) * of(origin->right()); break;
    case Kind::minimum: result = minimum(of(origin->left()), of(origin->right())); break;
    case Kind::maximum: result = maximum(of(origin->left()), of(origin->right())); break;
    case Kind::floor_divide: result = divided(origin, true); break;
    case Kind::modulo: result = divided(origin, false); break;
    }
    return result;
}

Polynomial Premises::divided(OriginPointer origin, bool is_quotient) {
    const Polynomial a = of(origin->left()), b = of(origin->right());
    const bool is_above_zero = proves(b - 1) || (not_zero_.contains(origin->right()) && proves(b));
    if (!is_above_zero) return Polynomial::of_atom(atom(origin->text()));
    return is_quotient ? quotient(a, b) : remainder(a, b);
}

void Premises::add(const Polynomial& not_negative) {
    if (!not_negative.is_exact() || is_known(not_negative)) return;
    note(not_negative);
    if (!not_negative.is_constant()) add_consequences(not_negative);
}

void Premises::note(const Polynomial& not_negative) {
    impossible_ += not_negative.is_constant();
    for (Atom atom : not_negative.atoms()) places_[atom].push_back(known_.size());
    known_.push_back(not_negative);
    failed_.clear();
    signs_.clear();
}

// What it says of a result it says of what this was made of.
void Premises::add_consequences(const Polynomial& not_negative) {
    const Atom atom = not_negative.greatest_atom();
    const Polynomial factor = not_negative.coefficient(atom);
    // A product is not zero: no part of it is.
    const auto& [product, amount] = *not_negative.terms().rbegin();
    if (not_negative.terms().size() == 2 && product.size() > 1 && amount > 0 && not_negative.constant() < 0) {
        steps_ = most_steps;
        const bool fits = std::ranges::all_of(product, [&](Atom part) { return is_not_negative(part); });
        const Polynomial::Product parts = product;
        for (Atom part : fits ? parts : Polynomial::Product()) add(Polynomial::of_atom(part) - 1);
    }
    if (!factor.is_constant()) return;
    const std::vector<Polynomial> bounds = atoms_[static_cast<size_t>(atom)].bounds;
    for (const Polynomial& bound : bounds) {
        const Polynomial other = bound.coefficient(atom);
        if (!other.is_constant() || (other.constant() > 0) == (factor.constant() > 0)) continue;
        add(not_negative * std::abs(other.constant()) + bound * std::abs(factor.constant()));
    }
}

// But for what is added to it.
bool Premises::is_known(const Polynomial& sum) const {
    if (sum.is_constant()) return sum.constant() >= 0;
    const auto places = places_.find(sum.greatest_atom());
    return places != places_.end() && std::ranges::any_of(places->second, [&](size_t place) {
        const Polynomial& known = known_[place];
        return known.terms().size() <= sum.terms().size() + 1 && (sum - known).is_constant() &&
               sum.constant() >= known.constant();
    });
}

void Premises::add_equal(const Polynomial& a, const Polynomial& b) {
    add(a - b);
    add(b - a);
}

bool Premises::is_made_of(Atom result, Atom part) const {
    return std::ranges::any_of(atoms_[static_cast<size_t>(result)].parts, [&](const Polynomial& of) {
        const auto atoms = of.atoms();
        return std::ranges::any_of(atoms, [&](Atom atom) { return atom == part || is_made_of(atom, part); });
    });
}

void Premises::add_zero(const Polynomial& zero) {
    const Polynomial value = replaced(zero);
    Atom atom = -1;
    for (const auto& [product, coefficient] : value.terms()) {
        if (product.size() != 1 || std::abs(coefficient) != 1) continue;
        const auto others = value.atoms();
        const auto returns_to = [&](Atom other) { return other != product[0] && is_made_of(other, product[0]); };
        const bool returns = std::ranges::any_of(others, returns_to);
        if (!returns && value.coefficient(product[0]).is_constant()) atom = std::max(atom, product[0]);
    }
    if (atom < 0) return add_equal(value, 0);
    const Polynomial other = value.without(atom) * Polynomial(-value.coefficient(atom).constant());
    const auto replace = [&](Polynomial& in) {
        if (in.has(atom)) in = in.with(atom, other);
    };
    for (auto& [known, with] : replaced_) replace(with);
    replaced_.emplace_back(atom, other);
    std::vector<Polynomial> known;
    known.swap(known_);
    places_.clear();
    impossible_ = 0;
    for (Polynomial& one : known) {
        replace(one);
        if (!is_known(one)) note(one);
    }
    origins_.clear();
    // What it was known to be, its name says no longer.
    const Made was = atoms_[static_cast<size_t>(atom)];
    if (was.is_name) add(other);
    for (const Polynomial& bound : was.bounds) add(replaced(bound));
}

void Premises::forget(size_t mark) {
    for (size_t place = known_.size(); place-- > mark;) {
        impossible_ -= known_[place].is_constant();
        for (Atom atom : known_[place].atoms()) places_[atom].pop_back();
    }
    known_.resize(mark);
    failed_.clear();
    signs_.clear();
}

// What an operation came to, and whether it is new.
std::pair<Polynomial, bool> Premises::result(Results& results, const char* name, const Polynomial& a, const Polynomial& b) {
    const auto [place, is_new] = results.try_emplace({a, b}, static_cast<Atom>(atoms_.size()));
    if (is_new) {
        atom(std::string(name) + "(" + text(a) + ", " + text(b) + ")");
        atoms_.back().parts = {a, b};
    }
    return {Polynomial::of_atom(place->second), is_new};
}

Polynomial Premises::quotient(const Polynomial& a, const Polynomial& divisor) {
    Polynomial whole, rest = a;
    if (divisor.is_constant()) std::tie(whole, rest) = split(a, divisor.constant());
    if (rest.is_constant() && divisor.is_constant()) return whole + floor_divide(rest.constant(), divisor.constant());
    const auto joined = divisor.is_constant() ? joined_quotient(rest, divisor.constant()) : std::nullopt;
    if (joined) return whole + *joined;
    const auto [value, is_new] = result(quotients_, "floor_div", rest, divisor);
    if (is_new) {
        const Polynomial left = rest - divisor * value;
        made(value).sign = rest;
        made(value).bounds = {left, divisor - 1 - left};
        if (divisor.is_constant()) {
            made(value).dividend = rest;
            made(value).divisor = divisor.constant();
            add_neighbours(value, rest, divisor.constant());
        }
    }
    return whole + value;
}

// (x // m + y) // divisor = (x + m * y) // (m * divisor); nothing where the dividend is of no such form.
std::optional<Polynomial> Premises::joined_quotient(const Polynomial& a, int64_t divisor) {
    for (const auto& [product, coefficient] : a.terms()) {
        if (product.size() != 1 || coefficient != 1) continue;
        const Made& inner = atoms_[static_cast<size_t>(product[0])];
        const auto both = checked_multiply(inner.divisor, divisor);
        if (inner.divisor == 0 || !both) continue;
        const Polynomial others = a - Polynomial::of_atom(product[0]);
        return quotient(Polynomial(inner.dividend) + others * inner.divisor, *both);
    }
    return std::nullopt;
}

// Of quotients of one sum, but for what stands beside it, whose divisors divide one another: how far a multiple of one is from
// the other, as whole numbers.
void Premises::add_neighbours(const Polynomial& value, const Polynomial& of, int64_t divisor) {
    const auto add_bounds = [&](const Polynomial& fine, int64_t a, int64_t small, const Polynomial& coarse, int64_t b,
                                int64_t large) {
        const Polynomial multiple = coarse * (large / small);
        made(value).bounds.push_back(multiple - fine - ceil_divide(b - a - large + 1, small));
        made(value).bounds.push_back(fine - multiple - ceil_divide(a - b - small + 1, small));
    };
    for (const auto& [operation, atom] : quotients_) {
        const auto& [other, by] = operation;
        const Polynomial quotient = Polynomial::of_atom(atom);
        if (quotient == value || !by.is_constant() || !(other - of).is_constant()) continue;
        const int64_t second = by.constant();
        if (second % divisor == 0) add_bounds(value, of.constant(), divisor, quotient, other.constant(), second);
        else if (divisor % second == 0) add_bounds(quotient, other.constant(), second, value, of.constant(), divisor);
    }
}

Polynomial Premises::minimum(const Polynomial& a, const Polynomial& b) {
    const auto [value, is_new] = result(least_, "min", a, b);
    if (is_new) {
        made(value).bounds = {a - value, b - value};
        made(value).cases = {{a, b - a}, {b, a - b}};
    }
    return value;
}

Polynomial Premises::maximum(const Polynomial& a, const Polynomial& b) {
    const auto [value, is_new] = result(greatest_, "max", a, b);
    if (is_new) {
        made(value).bounds = {value - a, value - b};
        made(value).cases = {{a, a - b}, {b, b - a}};
    }
    return value;
}

Polynomial Premises::either(const std::optional<Polynomial>& condition, const Polynomial& a, const Polynomial& b) {
    if (a == b) return a;
    const Polynomial value = Polynomial::of_atom(atom("either(" + text(a) + ", " + text(b) + ")"));
    made(value).cases = {{a, condition.value_or(0)}, {b, condition ? -*condition - 1 : Polynomial()}};
    return value;
}

bool Premises::proves(const Polynomial& not_negative) {
    if (impossible_ > 0) return true;
    steps_ = most_steps;
    open_.clear();
    return search(not_negative, 0);
}

bool Premises::is_not_negative(Atom atom) {
    const Made& made = atoms_[static_cast<size_t>(atom)];
    if (made.is_name) return true;
    if (const auto known = signs_.find(atom); known != signs_.end()) return known->second;
    signs_[atom] = false;  // while it is asked for
    const bool result = search(made.sign ? *made.sign : Polynomial::of_atom(atom), deepest / 2);
    if (steps_ > 0) signs_[atom] = result;
    return result;
}

bool Premises::has_no_part_below_zero(const Polynomial& sum) {
    const auto below = [](const auto& term) { return term.second < 0; };
    if (std::ranges::any_of(sum.terms(), below)) return false;
    return std::ranges::all_of(sum.terms(), [&](const auto& term) {
        return std::ranges::all_of(term.first, [&](Atom atom) { return is_not_negative(atom); });
    });
}

// Not negative where the sum is not, and the other way round.
Polynomial Premises::primitive(const Polynomial& sum) {
    const int64_t common = (sum - sum.constant()).common_factor().first;
    return common > 1 ? sum.divided(common, {}) : sum;
}

// It is a product of what is not negative and of another sum.
bool Premises::search_product(const Polynomial& sum, int depth) {
    return std::ranges::any_of(sum.common_factor().second, [&](Atom atom) {
        return is_not_negative(atom) && search(sum.divided(1, {atom}), depth);
    });
}

bool Premises::search(const Polynomial& whole, int depth) {
    if (!whole.is_exact()) return false;
    const Polynomial sum = primitive(whole);
    if (impossible_ > 0) return true;
    if (sum.is_constant()) return sum.constant() >= 0;
    if (depth > deepest || steps_ <= 0 || failed_.contains(sum)) return false;
    if (!open_.insert(sum).second) return false;
    steps_--;
    const bool found = has_no_part_below_zero(sum) || is_known(sum) || search_product(sum, depth + 1) ||
                       search_atom(sum, depth + 1);
    open_.erase(sum);
    if (!found && steps_ > 0) failed_.insert(sum);
    return found;
}

// The greatest atom gives way.
bool Premises::search_atom(const Polynomial& sum, int depth) {
    const Atom atom = sum.greatest_atom();
    const Polynomial factor = sum.coefficient(atom);
    // What is seen at once comes first: it takes long to find that nothing proves what is not so.
    const bool is_below = has_no_part_below_zero(-factor);
    if (!is_below && search(factor, depth)) {
        if (search_bounds(sum, atom, factor, true, depth)) return true;
    } else if (is_below || search(-factor, depth)) {
        if (search_bounds(sum, atom, -factor, false, depth)) return true;
    } else {
        Polynomial above, below;
        for (const auto& [product, coefficient] : factor.terms()) {
            Polynomial term = coefficient;
            for (Atom other : product) term = term * Polynomial::of_atom(other);
            (coefficient > 0 ? above : below) = coefficient > 0 ? above + term : below - term;
        }
        if (search(above, depth) && search_bounds(sum, atom, above, true, depth)) return true;
        if (search(below, depth) && search_bounds(sum, atom, below, false, depth)) return true;
    }
    return search_cases(sum, atom, depth);
}

// `amount` times the atom is a part of the sum, added (`above`) or subtracted.
bool Premises::search_bounds(const Polynomial& sum, Atom atom, const Polynomial& amount, bool above, int depth) {
    if (amount == Polynomial()) return false;
    const Polynomial itself = Polynomial::of_atom(atom);
    if (above && is_not_negative(atom) && search(sum - amount * itself, depth)) return true;
    for (const Polynomial& bound : bounds_of(atom, sum)) {
        const bool returns = bound.greatest_atom() != atom;  // to what has given way
        if (search_bound(sum, atom, amount, above, bound, depth + (returns ? deepest / 4 : 0))) return true;
    }
    return false;
}

// Those first that bring the fewest new numbers into the sum, and none that stand behind it.
std::vector<Polynomial> Premises::bounds_of(Atom atom, const Polynomial& sum) const {
    std::vector<Polynomial> bounds = atoms_[static_cast<size_t>(atom)].bounds;
    if (const auto places = places_.find(atom); places != places_.end())
        for (size_t place : places->second) bounds.push_back(known_[place]);
    const auto atoms = sum.atoms();
    const auto cost = [&](const Polynomial& bound) {
        const auto others = bound.atoms();
        const auto is_new = [&](Atom other) { return !atoms.contains(other); };
        return std::pair(bound.greatest_atom() > atom, std::ranges::count_if(others, is_new));
    };
    std::ranges::stable_sort(bounds, {}, cost);
    return bounds;
}

// divisor * sum >= divisor * sum - amount * bound, which is without the atom; of whole numbers, above -divisor is enough.
bool Premises::search_bound(const Polynomial& sum, Atom atom, const Polynomial& amount, bool above, const Polynomial& bound,
                            int depth) {
    const Polynomial factor = bound.coefficient(atom);
    Polynomial divisor = above ? factor : -factor, times = amount;
    if (divisor.has(atom) || !search(divisor - 1, depth)) return false;
    const auto [number, product] = (divisor.is_constant() ? divisor : Polynomial(1)).common_factor();
    const int64_t common = std::gcd(number, times.common_factor().first);
    divisor = divisor.divided(common, {}), times = times.divided(common, {});
    return search(divisor * sum - times * bound + divisor - 1, depth);
}

bool Premises::search_cases(const Polynomial& sum, Atom atom, int depth) {
    const std::vector<Case> cases = atoms_[static_cast<size_t>(atom)].cases;
    if (cases.empty()) return false;
    return std::ranges::all_of(cases, [&](const Case& one) {
        const size_t before = mark();
        add(one.given);
        const bool found = search(sum.with(atom, one.value), depth);
        forget(before);
        return found;
    });
}

}  // namespace heddle
