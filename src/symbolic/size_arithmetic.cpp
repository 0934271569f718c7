#include "symbolic/size_arithmetic.h"

#include <algorithm>
#include <string>
#include <vector>

#include "zspace/checked.h"

namespace heddle {
namespace {

// A sum of products: origins are brought into this form and back, so that equal sizes have equal texts.
struct Atom {
    std::string text;
    OriginPointer origin;
};
struct Term {
    int64_t coefficient = 0;
    std::vector<Atom> atoms;  // sorted by text
    std::string key;          // their texts
};
using Polynomial = std::vector<Term>;  // sorted by key, coefficients not 0

constexpr size_t most_terms = 16;
constexpr size_t most_atoms = 8;

Term made_term(int64_t coefficient, std::vector<Atom> atoms) {
    std::sort(atoms.begin(), atoms.end(), [](const Atom& a, const Atom& b) { return a.text < b.text; });
    Term term{coefficient, std::move(atoms), {}};
    for (const Atom& atom : term.atoms) term.key += atom.text + '\n';
    return term;
}

std::optional<Polynomial> normal(Polynomial terms) {
    std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.key < b.key; });
    Polynomial result;
    for (Term& term : terms) {
        if (result.empty() || result.back().key != term.key) {
            result.push_back(std::move(term));
            continue;
        }
        auto total = checked_add(result.back().coefficient, term.coefficient);
        if (!total) return std::nullopt;
        result.back().coefficient = *total;
    }
    std::erase_if(result, [](const Term& term) { return term.coefficient == 0; });
    bool extreme =
        std::any_of(result.begin(), result.end(), [](const Term& term) { return term.coefficient == INT64_MIN; });
    if (extreme || result.size() > most_terms) return std::nullopt;
    return result;
}

std::optional<Polynomial> added(Polynomial a, Polynomial b, int64_t sign) {
    for (Term& term : b) {
        auto coefficient = checked_multiply(term.coefficient, sign);
        if (!coefficient) return std::nullopt;
        term.coefficient = *coefficient;
        a.push_back(std::move(term));
    }
    return normal(std::move(a));
}

std::optional<Polynomial> multiplied(const Polynomial& a, const Polynomial& b) {
    Polynomial product;
    for (const Term& x : a) {
        for (const Term& y : b) {
            auto coefficient = checked_multiply(x.coefficient, y.coefficient);
            if (!coefficient || x.atoms.size() + y.atoms.size() > most_atoms) return std::nullopt;
            std::vector<Atom> atoms = x.atoms;
            atoms.insert(atoms.end(), y.atoms.begin(), y.atoms.end());
            product.push_back(made_term(*coefficient, std::move(atoms)));
        }
    }
    return normal(std::move(product));
}

Polynomial constant_polynomial(int64_t value) { return value == 0 ? Polynomial{} : Polynomial{made_term(value, {})}; }

Polynomial polynomial_of(const OriginPointer& origin) {
    using Kind = Origin::Kind;
    std::optional<Polynomial> result;
    switch (origin->kind()) {
    case Kind::constant: return constant_polynomial(origin->constant_value());
    case Kind::add: result = added(polynomial_of(origin->left()), polynomial_of(origin->right()), 1); break;
    case Kind::subtract: result = added(polynomial_of(origin->left()), polynomial_of(origin->right()), -1); break;
    case Kind::multiply: result = multiplied(polynomial_of(origin->left()), polynomial_of(origin->right())); break;
    default: break;
    }
    return result ? std::move(*result) : Polynomial{made_term(1, {{origin->text(), origin}})};
}

Polynomial polynomial_of(const Size& size) {
    return size.named() ? polynomial_of(size.origin) : constant_polynomial(size.value);
}

// Null for a constant.
OriginPointer origin_of(const Polynomial& polynomial) {
    OriginPointer sum;
    int64_t constant = 0;
    auto add_terms = [&](bool positive) {
        for (const Term& term : polynomial) {
            if (term.atoms.empty()) {
                constant = term.coefficient;
                continue;
            }
            if ((term.coefficient > 0) != positive) continue;
            // A leading negative term keeps its sign; the others are subtracted.
            bool subtracted = sum && !positive;
            int64_t factor = subtracted ? -term.coefficient : term.coefficient;
            OriginPointer product = factor == 1 ? nullptr : Origin::of_constant(factor);
            for (const Atom& atom : term.atoms) {
                product = product ? Origin::binary(Origin::Kind::multiply, product, atom.origin) : atom.origin;
            }
            sum = sum ? Origin::binary(subtracted ? Origin::Kind::subtract : Origin::Kind::add, sum, product) : product;
        }
    };
    add_terms(true);
    add_terms(false);
    if (!sum || constant == 0) return sum;
    return constant > 0 ? Origin::binary(Origin::Kind::add, sum, Origin::of_constant(constant))
                        : Origin::binary(Origin::Kind::subtract, sum, Origin::of_constant(-constant));
}

// The quotient, if every term of `a` has the one term of `b` as a factor.
std::optional<Polynomial> exactly_divided(const Polynomial& a, const Polynomial& b) {
    if (b.size() != 1) return std::nullopt;
    Polynomial quotient;
    for (const Term& term : a) {
        if (b[0].coefficient == -1 || term.coefficient % b[0].coefficient != 0) return std::nullopt;
        std::vector<Atom> atoms = term.atoms;
        for (const Atom& factor : b[0].atoms) {
            auto found =
                std::find_if(atoms.begin(), atoms.end(), [&](const Atom& atom) { return atom.text == factor.text; });
            if (found == atoms.end()) return std::nullopt;
            atoms.erase(found);
        }
        quotient.push_back(made_term(term.coefficient / b[0].coefficient, std::move(atoms)));
    }
    return normal(std::move(quotient));
}

OriginPointer lifted(const Size& size) { return size.named() ? size.origin : Origin::of_constant(size.value); }

Size with_origin(int64_t value, const std::optional<Polynomial>& polynomial, Origin::Kind kind, const Size& a,
                 const Size& b) {
    if (polynomial) return {value, origin_of(*polynomial)};
    return {value, Origin::binary(kind, lifted(a), lifted(b))};
}

}  // namespace

std::optional<Size> sum_of_sizes(const Size& a, const Size& b) {
    auto value = checked_add(a.value, b.value);
    if (!value) return std::nullopt;
    if (!a.named() && !b.named()) return Size(*value);
    return with_origin(*value, added(polynomial_of(a), polynomial_of(b), 1), Origin::Kind::add, a, b);
}

std::optional<Size> difference_of_sizes(const Size& a, const Size& b) {
    auto value = checked_subtract(a.value, b.value);
    if (!value) return std::nullopt;
    if (!a.named() && !b.named()) return Size(*value);
    return with_origin(*value, added(polynomial_of(a), polynomial_of(b), -1), Origin::Kind::subtract, a, b);
}

std::optional<Size> product_of_sizes(const Size& a, const Size& b) {
    auto value = checked_multiply(a.value, b.value);
    if (!value) return std::nullopt;
    if (!a.named() && !b.named()) return Size(*value);
    return with_origin(*value, multiplied(polynomial_of(a), polynomial_of(b)), Origin::Kind::multiply, a, b);
}

std::optional<Size> quotient_of_sizes(const Size& a, const Size& b) {
    if (a.value == INT64_MIN && b.value == -1) return std::nullopt;
    int64_t value = floor_divide(a.value, b.value);
    if (!a.named() && !b.named()) return Size(value);
    if (b.value == 1 && !b.named()) return a;
    return with_origin(value, exactly_divided(polynomial_of(a), polynomial_of(b)), Origin::Kind::floor_divide, a, b);
}

std::optional<Size> remainder_of_sizes(const Size& a, const Size& b) {
    if (b.value == -1) return Size(0);
    int64_t value = floor_modulo(a.value, b.value);
    if (!a.named() && !b.named()) return Size(value);
    if (exactly_divided(polynomial_of(a), polynomial_of(b))) return Size(0);
    return Size(value, Origin::binary(Origin::Kind::modulo, lifted(a), lifted(b)));
}

}  // namespace heddle
