// Integers of a tree as polynomials of what they are made of: variables, sizes, and data that nothing is known of.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "schedules/tree.h"
#include "zspace/premises.h"

namespace heddle::schedules {

class TreeValues {
public:
    TreeValues(const Tree& tree, const std::vector<Size>& numbers, Premises& premises);

    Polynomial of(const Number& number) const;
    Polynomial of(VariableId variable) const { return variables_.at(variable); }
    Polynomial of(const Term& term) const { return Polynomial(term.scale) * of(term.number) * of(term.variable); }
    Polynomial of(const Affine& affine);
    // An integer; where `guard` holds, which may be none.
    Polynomial of(ExpressionId id);

    void set(VariableId variable, Polynomial value) { variables_[variable] = std::move(value); }
    // A statement is over: what data say from now on may be something else.
    void forget_data() { values_.clear(); }
    // The let's value stays what it is here.
    void define(LetId let);

    // What follows from a condition is a premise from now on.
    void assume(ExpressionId condition, bool holds);
    // Each, with its bound, as it is where the present guard holds.
    void set_guard(ExpressionId guard) { guard_ = guard; }

private:
    Polynomial made(const Expression& e);
    Polynomial computed(const Expression& e);
    Polynomial checked(const Expression& e);
    Polynomial unknown(DType dtype);
    Polynomial fitting(Polynomial value, DType dtype);
    std::optional<Polynomial> condition(ExpressionId id);
    void assume_comparison(const Expression& e, bool holds);
    bool is_implied(ExpressionId condition, ExpressionId by) const;

    const Tree& tree_;
    Premises& premises_;
    std::vector<Polynomial> numbers_;
    std::map<VariableId, Polynomial> variables_;
    std::map<ExpressionId, Polynomial> values_;  // of this statement
    std::map<LetId, Polynomial> lets_;
    ExpressionId guard_ = no_id;
};

}  // namespace heddle::schedules
