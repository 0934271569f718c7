// Sizes with their origin. A dimension of a graph is a number, and, if the model named its dimensions, an expression
// over those names. An extent with an origin is *named*: never dropped at one, never merged away by value
// (docs/architecture.md, "Decisions").
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zspace/origin.h"

namespace heddle {

// An integer and where it came from (null: a plain number). What the number of a named size decides holds for that number
// alone, or for all that compare alike. So each comparison is a fact, and so is a plain number that is asked for; they are
// told to whoever records them (zspace/size_facts.h).
class Size {
public:
    constexpr Size() = default;
    constexpr Size(int64_t number) : number_(number) {}  // NOLINT: a plain number is a size
    // Where the origin has no name in it, a plain number.
    Size(int64_t number, OriginPointer from)
        : number_(number), origin_(from && from->is_constant() ? nullptr : from) {}

    // The greatest number known to divide it, whatever the names are; of a plain number itself.
    int64_t factor() const { return origin_ ? origin_->constant_factor() : number_; }
    bool named() const { return origin_ != nullptr; }
    OriginPointer origin() const { return origin_; }
    // Here. For messages and estimates alone: nothing else may follow from it.
    int64_t number() const { return number_; }
    // A fact from now on: what follows from it holds for this number only.
    int64_t value() const {
        if (origin_) tell_value();
        return number_;
    }
    operator int64_t() const { return value(); }  // NOLINT: whoever asks for a number gets it, and the fact is told
    // The same expression: for any numbers of the names, not only here. No fact.
    bool same_as(const Size& other) const { return number_ == other.number_ && origin_ == other.origin_; }
    size_t hash() const {
        return static_cast<size_t>(number_) ^ (reinterpret_cast<size_t>(origin_) * 0x9e3779b97f4a7c15ull);
    }
    // For these numbers of the names; its own number where one is missing.
    int64_t at(const std::map<std::string, int64_t>& names) const {
        return origin_ ? origin_->evaluate(names, number_) : number_;
    }
    // "(2 * batch) + 1", or the number.
    std::string text() const;

    Size& operator+=(const Size& other);
    Size& operator-=(const Size& other);
    Size& operator*=(const Size& other);
    Size& operator/=(const Size& other);
    Size& operator++() { return *this += 1; }
    Size& operator--() { return *this -= 1; }

    static bool equal(const Size& a, const Size& b) {
        return a.origin_ == b.origin_ ? a.number_ == b.number_ : equal_here(a, b);
    }
    static bool less(const Size& a, const Size& b) {
        return a.origin_ == b.origin_ ? a.number_ < b.number_ : less_here(a, b);
    }
    // Whether a <= b. The fact is that, or b <= a, where `less` would rule out one more: either is right where they are equal.
    static bool not_above(const Size& a, const Size& b) {
        const bool first = a.number_ <= b.number_;
        (void)(first ? less(b, a) : less(a, b));
        return first;
    }

    // Whether a == b for all sizes of the facts that are told: a new fact, that they are equal here by chance, is not told. For
    // what is right where they are not.
    static bool always_equal(const Size& a, const Size& b);

private:
    void tell_value() const;
    static bool equal_here(const Size& a, const Size& b);
    static bool less_here(const Size& a, const Size& b);

    int64_t number_ = 0;
    OriginPointer origin_ = nullptr;
};

// Without their origins, and without a fact.
std::vector<int64_t> numbers_of(std::span<const Size> sizes);

Size named_size(const std::string& name, int64_t value);

// The same operation on number and origin.
namespace size_arithmetic {
Size add(const Size& a, const Size& b);
Size subtract(const Size& a, const Size& b);
Size multiply(const Size& a, const Size& b);
Size divide(const Size& a, const Size& b);
Size remainder(const Size& a, const Size& b);
Size floor_divide(const Size& a, const Size& b);
Size ceil_divide(const Size& a, const Size& b);  // the divisor is above 0
Size floor_modulo(const Size& a, const Size& b);
Size minimum(const Size& a, const Size& b);
Size maximum(const Size& a, const Size& b);
std::optional<Size> checked_add(const Size& a, const Size& b);
std::optional<Size> checked_subtract(const Size& a, const Size& b);
std::optional<Size> checked_multiply(const Size& a, const Size& b);
std::optional<Size> checked_floor_divide(const Size& a, const Size& b);
std::optional<Size> checked_floor_modulo(const Size& a, const Size& b);
}  // namespace size_arithmetic

// A size, and another one or a plain integer.
template <typename A, typename B>
concept SizeOperands = (std::same_as<A, Size> && (std::same_as<B, Size> || std::integral<B>)) ||
                       (std::integral<A> && std::same_as<B, Size>);

// Overflow wraps: callers that take sizes from users have `checked` ones.
template <typename A, typename B> requires SizeOperands<A, B>
Size operator+(const A& a, const B& b) { return size_arithmetic::add(a, b); }
template <typename A, typename B> requires SizeOperands<A, B>
Size operator-(const A& a, const B& b) { return size_arithmetic::subtract(a, b); }
template <typename A, typename B> requires SizeOperands<A, B>
Size operator*(const A& a, const B& b) { return size_arithmetic::multiply(a, b); }
// As C has them; of named sizes, as long as neither is negative. No divisor may be zero.
template <typename A, typename B> requires SizeOperands<A, B>
Size operator/(const A& a, const B& b) { return size_arithmetic::divide(a, b); }
template <typename A, typename B> requires SizeOperands<A, B>
Size operator%(const A& a, const B& b) { return size_arithmetic::remainder(a, b); }
template <typename A, typename B> requires SizeOperands<A, B>
Size floor_divide(const A& a, const B& b) { return size_arithmetic::floor_divide(a, b); }
template <typename A, typename B> requires SizeOperands<A, B>
Size floor_modulo(const A& a, const B& b) { return size_arithmetic::floor_modulo(a, b); }
template <typename A, typename B> requires SizeOperands<A, B>
Size ceil_divide(const A& a, const B& b) { return size_arithmetic::ceil_divide(a, b); }
// Without a fact: the lesser, or the greater one, is an expression.
template <typename A, typename B> requires SizeOperands<A, B>
Size minimum(const A& a, const B& b) { return size_arithmetic::minimum(a, b); }
template <typename A, typename B> requires SizeOperands<A, B>
Size maximum(const A& a, const B& b) { return size_arithmetic::maximum(a, b); }
// Nothing on overflow.
template <typename A, typename B> requires SizeOperands<A, B>
std::optional<Size> checked_add(const A& a, const B& b) { return size_arithmetic::checked_add(a, b); }
template <typename A, typename B> requires SizeOperands<A, B>
std::optional<Size> checked_subtract(const A& a, const B& b) { return size_arithmetic::checked_subtract(a, b); }
template <typename A, typename B> requires SizeOperands<A, B>
std::optional<Size> checked_multiply(const A& a, const B& b) { return size_arithmetic::checked_multiply(a, b); }
template <typename A, typename B> requires SizeOperands<A, B>
std::optional<Size> checked_floor_divide(const A& a, const B& b) { return size_arithmetic::checked_floor_divide(a, b); }
template <typename A, typename B> requires SizeOperands<A, B>
std::optional<Size> checked_floor_modulo(const A& a, const B& b) { return size_arithmetic::checked_floor_modulo(a, b); }

template <typename A, typename B> requires SizeOperands<A, B>
bool operator==(const A& a, const B& b) { return Size::equal(a, b); }
template <typename A, typename B> requires SizeOperands<A, B>
bool operator<(const A& a, const B& b) { return Size::less(a, b); }
template <typename A, typename B> requires SizeOperands<A, B>
bool operator>(const A& a, const B& b) { return Size::less(b, a); }
template <typename A, typename B> requires SizeOperands<A, B>
bool operator<=(const A& a, const B& b) { return !Size::less(b, a); }
template <typename A, typename B> requires SizeOperands<A, B>
bool operator>=(const A& a, const B& b) { return !Size::less(a, b); }
// With a fact: which one it is. By value, where std::min and std::max would refer to what is gone.
template <typename A, typename B> requires SizeOperands<A, B> || (std::integral<A> && std::integral<B>)
Size lesser(const A& a, const B& b) { return Size::not_above(a, b) ? Size(a) : Size(b); }
template <typename A, typename B> requires SizeOperands<A, B> || (std::integral<A> && std::integral<B>)
Size greater(const A& a, const B& b) { return Size::not_above(b, a) ? Size(a) : Size(b); }
inline Size absolute(const Size& a) { return Size::not_above(0, a) ? a : size_arithmetic::subtract(0, a); }
inline Size operator-(const Size& a) { return size_arithmetic::subtract(0, a); }

// floor(size / divisor), the divisor being above 0, as a number. The fact is between which multiples the size lies.
int64_t whole_quotient(const Size& size, const Size& divisor);

// Whether it divides the other one, whatever the names are. No fact.
inline bool divides(const Size& divisor, const Size& size) {
    if (!divisor.named() && !size.named()) return size.number() % divisor.number() == 0;
    return floor_modulo(size, divisor).same_as(0);
}

}  // namespace heddle
