// What follows for whole numbers that have no values from what they are made of and from what is known of them: that sums of
// products of them are not negative.
//
// The greatest number of a sum, in the order in which they came, gives way to one of its bounds, which speak of those before it.
// Where no choice of bounds leaves a sum that has no part below zero, nothing is said: what is proved is true, but not the
// other way round.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "zspace/polynomial.h"
#include "zspace/size.h"

namespace heddle {

class Premises {
public:
    // One more number, of which nothing is known yet. The name is for people.
    Atom atom(std::string name);
    std::string text(const Polynomial& value) const;
    // A size, or an operation on sizes, whatever its names are. `//` and `%` by what may be zero are numbers like any others.
    Polynomial of(const Size& size);
    Polynomial of(OriginPointer origin);

    // From now on, until what was said since `mark` is forgotten: it is not negative.
    void add(const Polynomial& not_negative);
    void add_equal(const Polynomial& a, const Polynomial& b);
    // For good. A number that it says is one sum of others is this sum from now on.
    void add_zero(const Polynomial& zero);
    void add_not_zero(OriginPointer size) { not_zero_.insert(size); }
    size_t mark() const { return known_.size(); }
    void forget(size_t mark);

    // Floors; the divisor is above zero.
    Polynomial quotient(const Polynomial& a, const Polynomial& divisor);
    Polynomial remainder(const Polynomial& a, const Polynomial& divisor) { return a - divisor * quotient(a, divisor); }
    Polynomial minimum(const Polynomial& a, const Polynomial& b);
    Polynomial maximum(const Polynomial& a, const Polynomial& b);
    // The first where the condition is not negative, else the second. Without a condition, who knows which.
    Polynomial either(const std::optional<Polynomial>& condition, const Polynomial& a, const Polynomial& b);

    bool proves(const Polynomial& not_negative);

private:
    struct Case {
        Polynomial value, given;  // what is not negative then
    };
    struct Made {  // of an atom
        std::string name;
        std::vector<Polynomial> parts;  // what it is made of
        Polynomial dividend;
        int64_t divisor = 0;  // of a quotient by a number; 0: it is something else
        bool is_name = false;
        std::optional<Polynomial> sign;  // it is not negative where this is not
        std::vector<Polynomial> bounds;  // not negative
        std::vector<Case> cases;         // it is one of them; empty: anything
    };
    using Results = std::map<std::pair<Polynomial, Polynomial>, Atom>;

    Made& made(const Polynomial& atom) { return atoms_[static_cast<size_t>(atom.greatest_atom())]; }
    std::pair<Polynomial, bool> result(Results& results, const char* name, const Polynomial& a, const Polynomial& b);
    Polynomial made(OriginPointer origin);
    Polynomial replaced(Polynomial value) const;
    void add_neighbours(const Polynomial& value, const Polynomial& of, int64_t divisor);
    Polynomial divided(OriginPointer origin, bool is_quotient);
    bool is_made_of(Atom result, Atom part) const;
    void note(const Polynomial& not_negative);
    std::optional<Polynomial> joined_quotient(const Polynomial& a, int64_t divisor);
    void add_consequences(const Polynomial& not_negative);
    bool is_known(const Polynomial& sum) const;
    bool is_not_negative(Atom atom);
    bool has_no_part_below_zero(const Polynomial& sum);
    static Polynomial primitive(const Polynomial& sum);
    bool search_product(const Polynomial& sum, int depth);
    bool search(const Polynomial& sum, int depth);
    bool search_atom(const Polynomial& sum, int depth);
    bool search_bounds(const Polynomial& sum, Atom atom, const Polynomial& part, bool above, int depth);
    std::vector<Polynomial> bounds_of(Atom atom, const Polynomial& sum) const;
    bool search_bound(const Polynomial& sum, Atom atom, const Polynomial& amount, bool above, const Polynomial& bound, int depth);
    bool search_cases(const Polynomial& sum, Atom atom, int depth);

    std::vector<Made> atoms_;
    std::vector<Polynomial> known_;
    int64_t impossible_ = 0;  // of what is known, how much cannot be: there is no such case
    std::map<Atom, std::vector<size_t>> places_;  // of what is known, by each atom in it
    std::map<OriginPointer, Polynomial> origins_;
    std::map<std::string, Atom> names_;
    std::vector<std::pair<Atom, Polynomial>> replaced_;  // none has one that was replaced before
    std::set<OriginPointer> not_zero_;
    Results quotients_, least_, greatest_;
    std::map<Atom, bool> signs_;   // with what is known now
    std::set<Polynomial> failed_;  // the same
    std::set<Polynomial> open_;    // what the search is about
    int steps_ = 0;                // that are left
};

}  // namespace heddle
