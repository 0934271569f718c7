#include "zspace/size.h"

#include <algorithm>
#include <numeric>

#include "zspace/checked.h"

namespace heddle {

OriginPointer Origin::of_name(std::string name) {
    auto origin = std::make_shared<Origin>();
    origin->kind_ = Kind::name;
    origin->name_ = std::move(name);
    return origin;
}

OriginPointer Origin::of_constant(int64_t value) {
    auto origin = std::make_shared<Origin>();
    origin->value_ = value;
    return origin;
}

OriginPointer Origin::binary(Kind kind, OriginPointer a, OriginPointer b) {
    auto origin = std::make_shared<Origin>();
    origin->kind_ = kind;
    origin->a_ = std::move(a);
    origin->b_ = std::move(b);
    return origin;
}

std::string Origin::text() const {
    auto inner = [](const OriginPointer& part) {
        bool atom = part->kind_ == Kind::name || (part->kind_ == Kind::constant && part->value_ >= 0);
        return atom ? part->text() : "(" + part->text() + ")";
    };
    switch (kind_) {
    case Kind::name: return name_;
    case Kind::constant: return std::to_string(value_);
    case Kind::add: return inner(a_) + " + " + inner(b_);
    case Kind::subtract: return inner(a_) + " - " + inner(b_);
    case Kind::multiply: return inner(a_) + " * " + inner(b_);
    case Kind::floor_divide: return inner(a_) + " // " + inner(b_);
    case Kind::modulo: return inner(a_) + " % " + inner(b_);
    case Kind::minimum: return "min(" + a_->text() + ", " + b_->text() + ")";
    case Kind::maximum: return "max(" + a_->text() + ", " + b_->text() + ")";
    }
    return {};
}

int64_t Origin::constant_factor() const {
    switch (kind_) {
    case Kind::constant: return value_ == 0 ? 0 : std::abs(value_);
    case Kind::name: return 1;
    case Kind::multiply: return a_->constant_factor() * b_->constant_factor();
    case Kind::floor_divide: {
        int64_t divisor = b_->kind_ == Kind::constant ? b_->value_ : 0;
        int64_t factor = a_->constant_factor();
        return divisor > 0 && factor % divisor == 0 ? factor / divisor : 1;
    }
    default: return std::gcd(a_->constant_factor(), b_->constant_factor());
    }
}

int64_t Origin::evaluate(const std::map<std::string, int64_t>& names, int64_t fallback) const {
    if (kind_ == Kind::constant) return value_;
    if (kind_ == Kind::name) {
        auto found = names.find(name_);
        return found == names.end() ? fallback : found->second;
    }
    int64_t a = a_->evaluate(names, fallback), b = b_->evaluate(names, fallback);
    switch (kind_) {
    case Kind::add: return a + b;
    case Kind::subtract: return a - b;
    case Kind::multiply: return a * b;
    case Kind::floor_divide: return b == 0 ? fallback : floor_divide(a, b);
    case Kind::modulo: return b == 0 ? fallback : floor_modulo(a, b);
    case Kind::minimum: return std::min(a, b);
    default: return std::max(a, b);
    }
}

Interval Origin::within_class(const std::map<std::string, int64_t>& representatives) const {
    if (kind_ == Kind::constant) return Interval::point(value_);
    if (kind_ == Kind::name) {
        const auto found = representatives.find(name_);
        if (found == representatives.end()) return {};
        const int64_t middle = found->second;
        return middle > 0 ? Interval{middle / 2, 2 * middle - 1} : Interval::point(middle);
    }
    const Interval a = a_->within_class(representatives), b = b_->within_class(representatives);
    switch (kind_) {
    case Kind::add: return a + b;
    case Kind::subtract: return a - b;
    case Kind::multiply: return a * b;
    case Kind::floor_divide: return floor_divide(a, b);
    case Kind::modulo: return floor_modulo(a, b);
    case Kind::minimum: return heddle::minimum(a, b);
    default: return heddle::maximum(a, b);
    }
}

bool Size::operator==(const Size& other) const {
    if (value != other.value || named() != other.named()) return false;
    return !named() || origin == other.origin || origin->text() == other.origin->text();
}

std::string Size::text() const { return origin ? origin->text() : std::to_string(value); }

Size named_size(std::string name, int64_t value) { return {value, Origin::of_name(std::move(name))}; }

namespace {

OriginPointer lift(const Size& size) { return size.origin ? size.origin : Origin::of_constant(size.value); }

Size combine(Origin::Kind kind, const Size& a, const Size& b, int64_t value) {
    if (!a.named() && !b.named()) return value;
    return {value, Origin::binary(kind, lift(a), lift(b))};
}

bool plain(const Size& size, int64_t value) { return !size.named() && size.value == value; }

}  // namespace

Size operator+(const Size& a, const Size& b) {
    if (plain(a, 0)) return b;
    if (plain(b, 0)) return a;
    return combine(Origin::Kind::add, a, b, a.value + b.value);
}

Size operator-(const Size& a, const Size& b) {
    if (plain(b, 0)) return a;
    return combine(Origin::Kind::subtract, a, b, a.value - b.value);
}

Size operator*(const Size& a, const Size& b) {
    if (plain(a, 1)) return b;
    if (plain(b, 1)) return a;
    if (plain(a, 0) || plain(b, 0)) return 0;
    return combine(Origin::Kind::multiply, a, b, a.value * b.value);
}

Size floor_divide(const Size& a, const Size& b) {
    if (plain(b, 1)) return a;
    return combine(Origin::Kind::floor_divide, a, b, floor_divide(a.value, b.value));
}

Size floor_modulo(const Size& a, const Size& b) {
    if (plain(b, 1)) return 0;
    return combine(Origin::Kind::modulo, a, b, floor_modulo(a.value, b.value));
}

Size minimum(const Size& a, const Size& b) {
    if (a == b) return a;
    return combine(Origin::Kind::minimum, a, b, std::min(a.value, b.value));
}

Size maximum(const Size& a, const Size& b) {
    if (a == b) return a;
    return combine(Origin::Kind::maximum, a, b, std::max(a.value, b.value));
}

int64_t class_representative(int64_t value) {
    constexpr int64_t last = int64_t{1} << 60;  // twice the next one would be beyond the type
    int64_t low = 1;
    while (low < last && low <= value / 4) low *= 4;
    return value <= 0 ? value : 2 * low;
}

}  // namespace heddle
