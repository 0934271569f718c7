// Where a size came from: an expression over named dimensions, as a sum of products. Equal origins are one, whoever makes
// them, so that they are compared by address and cost little to copy.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/inline_vector.h"

namespace heddle {

struct Interval;
class Origin;
using OriginPointer = const Origin*;  // null: no name is in it

// Immutable. Each is kept as long as the process: there are as many as programs have different names and expressions.
class Origin {
public:
    enum class Kind : uint8_t { name, constant, sum, add, subtract, multiply, floor_divide, modulo, minimum, maximum };
    // A product of names and operations, in the order of their texts.
    struct Term {
        int64_t coefficient = 1;
        InlineVector<OriginPointer, 4> atoms;
        bool operator==(const Term&) const = default;
    };

    static OriginPointer of_name(const std::string& name);
    static OriginPointer of_constant(int64_t value);
    // What an operation, from `add` on, comes to: sums of products are multiplied out, equal terms are one, what divides
    // all of a quotient's terms is divided by. `//` and `%` floor. Where a sum would be too large, or a coefficient beyond
    // its type, `add` and `multiply` stay as they are.
    static OriginPointer of(Kind operation, OriginPointer a, OriginPointer b);

    Kind kind() const { return kind_; }
    bool is_constant() const { return kind_ == Kind::constant; }
    int64_t constant_value() const { return constant_; }       // of a constant; of a sum, what stands beside its terms
    std::span<const Term> terms() const { return terms_; }     // of a sum: at least one
    OriginPointer left() const { return a_; }                  // of an operation, else null
    OriginPointer right() const { return b_; }
    const std::string& text() const { return text_; }  // "(2 * batch) + 1"
    // For text forms that are read again: bracketed as a whole, names that are no identifiers in quotes.
    std::string spelled() const;

    // The greatest number known to divide the value, whatever the names are. 1 if nothing is known; 0: the value is 0.
    int64_t constant_factor() const;
    // The value for given names; nothing where a name is missing, on a division by zero and on overflow, or `fallback`.
    std::optional<int64_t> evaluated(const std::map<std::string, int64_t>& names) const;
    int64_t evaluate(const std::map<std::string, int64_t>& names, int64_t fallback) const {
        return evaluated(names).value_or(fallback);
    }
    // Between which ends the value lies when each name has any size of its class (zspace/size_class.h); of these, the
    // representatives, or any others.
    Interval within_class(const std::map<std::string, int64_t>& representatives) const;
    // Whether it is, whatever the names are: no size is below zero.
    bool is_never_negative() const;

private:
    struct Table;
    enum class Spelling : uint8_t { shown, read };
    static std::string number(int64_t value, Spelling spelling);
    std::string inner(Spelling spelling) const;
    std::string written(Spelling spelling) const;

    Kind kind_ = Kind::constant;
    int64_t constant_ = 0;
    std::vector<Term> terms_;
    OriginPointer a_ = nullptr, b_ = nullptr;
    std::string name_, text_;
};

}  // namespace heddle
