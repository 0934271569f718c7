#include "zspace/size.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "zspace/checked.h"
#include "zspace/class_order.h"
#include "zspace/interval.h"
#include "zspace/size_class.h"
#include "zspace/size_facts.h"

namespace heddle {
namespace {

OriginPointer origin_of(const Size& size) {
    return size.named() ? size.origin() : Origin::of_constant(size.number());
}

// Stands for what is not known; no size of a program is.
bool is_limit(const Size& size) { return size.number() == INT64_MIN || size.number() == INT64_MAX; }

void tell_divisor(const Size& size) {
    if (size.named() && RecordingFacts::is_on()) RecordingFacts::tell({size.origin(), SizeFact::Relation::not_zero});
}

template <typename Operation>
int64_t wrapped(int64_t a, int64_t b, Operation operation) {
    return static_cast<int64_t>(operation(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
}

// What this thread has last given to each name, near enough to tell its class, and what follows from their classes.
struct LastNumbers {
    std::map<std::string, int64_t> numbers;
    std::unordered_map<OriginPointer, bool> decided;

    void give(const std::string& name, int64_t value) {
        const auto [entry, is_new] = numbers.try_emplace(name, value);
        if (is_new || size_class(entry->second).least != size_class(value).least) decided.clear();
        entry->second = value;
    }
};

LastNumbers& last_numbers() {
    thread_local LastNumbers numbers;
    return numbers;
}

// Whether one of them is the lesser for all sizes of their names' classes. Then it may be a fact that it is, and which plans
// hold for no less; an expression would grow on.
bool is_decided_by_class(const Size& a, const Size& b) {
    if (!RecordingFacts::is_on() || is_limit(a) || is_limit(b)) return false;
    const OriginPointer difference = Origin::of(Origin::Kind::subtract, origin_of(a), origin_of(b));
    LastNumbers& last = last_numbers();
    const auto [known, is_new] = last.decided.try_emplace(difference, false);
    if (is_new) {
        const Interval ends = difference->within_class(last.numbers);
        known->second = (ends.known_low() && ends.low.number() >= 0) || (ends.known_high() && ends.high.number() <= 0);
    }
    return known->second;
}

Size with_value(int64_t value, Origin::Kind operation, const Size& a, const Size& b) {
    if (!a.named() && !b.named()) return value;
    return {value, Origin::of(operation, origin_of(a), origin_of(b))};
}

}  // namespace

std::string Size::text() const { return origin_ ? origin_->text() : std::to_string(number_); }

void Size::tell_value() const {
    if (RecordingFacts::is_on()) (void)equal_here(*this, number_);
}

bool Size::equal_here(const Size& a, const Size& b) {
    if (RecordingFacts::is_on() && !is_limit(a) && !is_limit(b)) {
        const OriginPointer difference = Origin::of(Origin::Kind::subtract, origin_of(a), origin_of(b));
        if (difference->is_constant()) return difference->constant_value() == 0;
        using Relation = SizeFact::Relation;
        RecordingFacts::tell({difference, a.number_ == b.number_ ? Relation::zero : Relation::not_zero});
    }
    return a.number_ == b.number_;
}

bool Size::always_equal(const Size& a, const Size& b) {
    if (a.number_ != b.number_) return false;
    if (a.origin_ == b.origin_ || !RecordingFacts::is_on()) return true;
    const auto is_told = [](const Size& x, const Size& y) {
        const OriginPointer difference = Origin::of(Origin::Kind::subtract, origin_of(x), origin_of(y));
        if (difference->is_constant()) return difference->constant_value() == 0;
        return RecordingFacts::is_known({difference, SizeFact::Relation::zero});
    };
    return is_told(a, b) || is_told(b, a);
}

bool Size::less_here(const Size& a, const Size& b) {
    const bool is_less = a.number_ < b.number_;
    if (!RecordingFacts::is_on() || is_limit(a) || is_limit(b)) return is_less;
    // What is not negative here: b - a - 1, or a - b.
    const Size &above = is_less ? b : a, &below = is_less ? a : b;
    OriginPointer difference = Origin::of(Origin::Kind::subtract, origin_of(above), origin_of(below));
    if (is_less) difference = Origin::of(Origin::Kind::subtract, difference, Origin::of_constant(1));
    if (!difference->is_constant()) RecordingFacts::tell({difference, SizeFact::Relation::not_negative});
    return is_less;
}

Size& Size::operator+=(const Size& other) { return *this = *this + other; }
Size& Size::operator-=(const Size& other) { return *this = *this - other; }
Size& Size::operator*=(const Size& other) { return *this = *this * other; }
Size& Size::operator/=(const Size& other) { return *this = *this / other; }

std::vector<int64_t> numbers_of(std::span<const Size> sizes) {
    std::vector<int64_t> numbers;
    for (const Size& size : sizes) numbers.push_back(size.number());
    return numbers;
}

Size named_size(const std::string& name, int64_t value) {
    last_numbers().give(name, value);
    return {value, Origin::of_name(name)};
}

bool is_never_above(const Size& a, const Size& b) {
    if (!RecordingFacts::is_on() || (!a.named() && !b.named())) return a.number() <= b.number();
    return is_decided_by_class(a, b) && Size::not_above(a, b);
}

bool is_always_below(const Size& a, const Size& b) {
    if (!RecordingFacts::is_on() || (!a.named() && !b.named())) return a.number() < b.number();
    return !is_limit(b) && is_never_above(a, b - 1);
}

int64_t whole_quotient(const Size& size, const Size& divisor) {
    const int64_t quotient = floor_divide(size.number(), divisor.number());
    (void)Size::not_above(quotient * divisor, size);
    (void)Size::less(size, (quotient + 1) * divisor);
    return quotient;
}

namespace size_arithmetic {

Size add(const Size& a, const Size& b) {
    return with_value(wrapped(a.number(), b.number(), std::plus()), Origin::Kind::add, a, b);
}
Size subtract(const Size& a, const Size& b) {
    return with_value(wrapped(a.number(), b.number(), std::minus()), Origin::Kind::subtract, a, b);
}
Size multiply(const Size& a, const Size& b) {
    return with_value(wrapped(a.number(), b.number(), std::multiplies()), Origin::Kind::multiply, a, b);
}
Size divide(const Size& a, const Size& b) {
    if (!a.named() && !b.named()) return a.number() / b.number();
    return a < 0 || b < 0 ? Size(a.value() / b.value()) : floor_divide(a, b);
}
Size remainder(const Size& a, const Size& b) {
    if (!a.named() && !b.named()) return a.number() % b.number();
    return a < 0 || b < 0 ? Size(a.value() % b.value()) : floor_modulo(a, b);
}
Size floor_divide(const Size& a, const Size& b) {
    tell_divisor(b);
    return with_value(heddle::floor_divide(a.number(), b.number()), Origin::Kind::floor_divide, a, b);
}
Size ceil_divide(const Size& a, const Size& b) {
    if (!a.named() && !b.named()) return heddle::ceil_divide(a.number(), b.number());
    return floor_divide(a + (b - 1), b);
}
Size floor_modulo(const Size& a, const Size& b) {
    tell_divisor(b);
    return with_value(heddle::floor_modulo(a.number(), b.number()), Origin::Kind::modulo, a, b);
}
Size minimum(const Size& a, const Size& b) {
    if (is_decided_by_class(a, b)) return lesser(a, b);
    return with_value(std::min(a.number(), b.number()), Origin::Kind::minimum, a, b);
}
Size maximum(const Size& a, const Size& b) {
    if (is_decided_by_class(a, b)) return greater(a, b);
    return with_value(std::max(a.number(), b.number()), Origin::Kind::maximum, a, b);
}

std::optional<Size> checked_add(const Size& a, const Size& b) {
    return heddle::checked_add(a.number(), b.number()) ? std::optional(a + b) : std::nullopt;
}

std::optional<Size> checked_subtract(const Size& a, const Size& b) {
    return heddle::checked_subtract(a.number(), b.number()) ? std::optional(a - b) : std::nullopt;
}

std::optional<Size> checked_multiply(const Size& a, const Size& b) {
    return heddle::checked_multiply(a.number(), b.number()) ? std::optional(a * b) : std::nullopt;
}

std::optional<Size> checked_floor_divide(const Size& a, const Size& b) {
    if (a.number() == INT64_MIN && b.number() == -1) return std::nullopt;
    return floor_divide(a, b);
}

std::optional<Size> checked_floor_modulo(const Size& a, const Size& b) {
    return b.number() == -1 ? Size(0) : floor_modulo(a, b);
}

}  // namespace size_arithmetic

}  // namespace heddle
