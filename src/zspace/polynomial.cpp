#include "zspace/polynomial.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>

#include "zspace/checked.h"

namespace heddle {
namespace {

constexpr size_t most_products = 200;

}  // namespace

Polynomial::Polynomial(int64_t number) {
    if (number != 0) terms_[{}] = number;
}

Polynomial Polynomial::of_atom(Atom atom) {
    Polynomial result;
    result.terms_[{atom}] = 1;
    return result;
}

int64_t Polynomial::constant() const {
    const auto found = terms_.find({});
    return found == terms_.end() ? 0 : found->second;
}

Atom Polynomial::greatest_atom() const {
    Atom greatest = -1;
    for (const auto& [product, coefficient] : terms_) {
        if (!product.empty()) greatest = std::max(greatest, product.back());
    }
    return greatest;
}

std::set<Atom> Polynomial::atoms() const {
    std::set<Atom> atoms;
    for (const auto& [product, coefficient] : terms_) atoms.insert(product.begin(), product.end());
    return atoms;
}

bool Polynomial::has(Atom atom) const {
    return std::ranges::any_of(terms_, [&](const auto& term) { return std::ranges::binary_search(term.first, atom); });
}

void Polynomial::add(const Product& product, int64_t coefficient) {
    const auto [place, added] = terms_.try_emplace(product, coefficient);
    if (!added) {
        const auto sum = checked_add(place->second, coefficient);
        exact_ = exact_ && sum;
        place->second = sum.value_or(0);
    }
    if (place->second == 0) terms_.erase(place);
    if (terms_.size() > most_products) exact_ = false, terms_.clear();
}

Polynomial Polynomial::operator+(const Polynomial& other) const {
    Polynomial result = *this;
    result.exact_ = exact_ && other.exact_;
    for (const auto& [product, coefficient] : other.terms_) result.add(product, coefficient);
    return result;
}

Polynomial Polynomial::operator-(const Polynomial& other) const { return *this + other * Polynomial(-1); }

Polynomial Polynomial::operator*(const Polynomial& other) const {
    Polynomial result;
    result.exact_ = exact_ && other.exact_;
    for (const auto& [a, x] : terms_) {
        for (const auto& [b, y] : other.terms_) {
            const auto coefficient = checked_multiply(x, y);
            result.exact_ = result.exact_ && coefficient;
            Product product = a;
            product.insert(product.end(), b.begin(), b.end());
            std::ranges::sort(product);
            result.add(product, coefficient.value_or(0));
        }
    }
    return result;
}

std::pair<int64_t, Polynomial::Product> Polynomial::common_factor() const {
    int64_t number = 0;
    std::optional<Product> common;
    for (const auto& [product, coefficient] : terms_) {
        number = std::gcd(number, coefficient);
        Product both;
        if (common) std::ranges::set_intersection(*common, product, std::back_inserter(both));
        common = common ? std::move(both) : product;
    }
    return {number, common.value_or(Product{})};
}

Polynomial Polynomial::divided(int64_t number, const Product& product) const {
    Polynomial result;
    result.exact_ = exact_;
    for (const auto& [atoms, coefficient] : terms_) {
        Product left;
        std::ranges::set_difference(atoms, product, std::back_inserter(left));
        result.add(left, floor_divide(coefficient, number));
    }
    return result;
}

Polynomial Polynomial::coefficient(Atom atom) const {
    Polynomial result;
    result.exact_ = exact_;
    for (const auto& [product, amount] : terms_) {
        const auto found = std::ranges::lower_bound(product, atom);
        if (found == product.end() || *found != atom) continue;
        Product others = product;
        others.erase(others.begin() + (found - product.begin()));
        result.add(others, amount);
    }
    return result;
}

Polynomial Polynomial::without(Atom atom) const {
    Polynomial result;
    result.exact_ = exact_;
    for (const auto& [product, coefficient] : terms_) {
        if (!std::ranges::binary_search(product, atom)) result.add(product, coefficient);
    }
    return result;
}

Polynomial Polynomial::with(Atom atom, const Polynomial& value) const {
    Polynomial result = without(atom), power = coefficient(atom);
    if (power.terms_.empty()) return result;
    return result + power.with(atom, value) * value;
}

}  // namespace heddle
