// Sums of products of whole numbers that have no values: sizes, points of loops, results of operations on them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace heddle {

using Atom = int32_t;  // what stands for one such number; who makes polynomials says which

class Polynomial {
public:
    using Product = std::vector<Atom>;  // ascending; none: one
    // By product, none with 0.
    using Terms = std::map<Product, int64_t>;

    Polynomial() = default;
    Polynomial(int64_t number);  // NOLINT: a number is one
    static Polynomial of_atom(Atom atom);

    // False if a coefficient was beyond 64 bits, or there were too many terms: then nothing is known of the value.
    bool is_exact() const { return exact_; }
    bool is_constant() const { return terms_.empty() || (terms_.size() == 1 && terms_.begin()->first.empty()); }
    int64_t constant() const;  // what stands beside the products of atoms
    const Terms& terms() const { return terms_; }
    Atom greatest_atom() const;  // -1: there is none
    std::set<Atom> atoms() const;
    bool has(Atom atom) const;

    Polynomial operator+(const Polynomial& other) const;
    Polynomial operator-(const Polynomial& other) const;
    Polynomial operator*(const Polynomial& other) const;
    Polynomial operator-() const { return Polynomial() - *this; }
    bool operator==(const Polynomial& other) const = default;
    bool operator<(const Polynomial& other) const { return terms_ < other.terms_; }

    // The greatest number and the product that all terms have; zero: none.
    std::pair<int64_t, Product> common_factor() const;
    // The floor of what is left without the number, but for what stands alone, and without the product.
    Polynomial divided(int64_t number, const Product& product) const;

    // What the atom is multiplied by: this is `coefficient * atom + others`. Other powers of it are in the coefficient.
    Polynomial coefficient(Atom atom) const;
    Polynomial without(Atom atom) const;
    // Another one in its place.
    Polynomial with(Atom atom, const Polynomial& value) const;

private:
    void add(const Product& product, int64_t coefficient);

    Terms terms_;
    bool exact_ = true;
};

}  // namespace heddle
