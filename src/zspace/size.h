// Sizes with their origin. A dimension of a graph is a number, and, if the model named its dimensions, an expression
// over those names. Passes decide by the number; an extent with an origin is *named*: never dropped at one, never
// merged away by value, never a baked fact (docs/architecture.md).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "zspace/interval.h"

namespace heddle {

class Origin;
using OriginPointer = std::shared_ptr<const Origin>;

// An integer and where it came from (null: a plain number). Arithmetic is exact; a caller checks overflow with
// `checked`.
struct Size {
    int64_t value = 0;
    OriginPointer origin;

    Size() = default;
    Size(int64_t number) : value(number) {}  // NOLINT: a plain number is a size
    Size(int64_t number, OriginPointer from) : value(number), origin(std::move(from)) {}
    bool named() const { return origin != nullptr; }
    // Numbers and origins agree.
    bool operator==(const Size& other) const;
    // "2 * batch + 1", or the number.
    std::string text() const;
};

class Origin {
public:
    enum class Kind { name, constant, add, subtract, multiply, floor_divide, modulo, minimum, maximum };

    static OriginPointer of_name(std::string name);
    static OriginPointer of_constant(int64_t value);
    static OriginPointer binary(Kind kind, OriginPointer a, OriginPointer b);

    Kind kind() const { return kind_; }
    const OriginPointer& left() const { return a_; }  // of an operation, else null
    const OriginPointer& right() const { return b_; }
    int64_t constant_value() const { return value_; }  // of a constant
    std::string text() const;
    // The greatest number known to divide the value, whatever the names are. 1 if nothing is known.
    int64_t constant_factor() const;
    // The value for given names. A name that is missing, or a division by zero, gives `fallback`.
    int64_t evaluate(const std::map<std::string, int64_t>& names, int64_t fallback) const;
    // Between which ends the value lies when each name has any size of its class; of these, the representatives.
    Interval within_class(const std::map<std::string, int64_t>& representatives) const;

private:
    Kind kind_ = Kind::constant;
    std::string name_;
    int64_t value_ = 0;
    OriginPointer a_, b_;
};

Size named_size(std::string name, int64_t value);

// The same operation on number and origin. `//` and `%` floor; the divisor must not be zero. Overflow wraps: callers
// that take sizes from users go through `checked_*` in zspace/checked.h first.
Size operator+(const Size& a, const Size& b);
Size operator-(const Size& a, const Size& b);
Size operator*(const Size& a, const Size& b);
Size floor_divide(const Size& a, const Size& b);
Size floor_modulo(const Size& a, const Size& b);
Size minimum(const Size& a, const Size& b);
Size maximum(const Size& a, const Size& b);

// Size classes: class k of a named dimension is [4^k, 4^(k+1)), its representative 2 * 4^k. Partition and schedules are
// computed at the representative and hold for the class.
int64_t class_representative(int64_t value);

}  // namespace heddle
