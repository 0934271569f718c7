#include "zspace/size_program.h"

#include <algorithm>

#include "zspace/checked.h"

namespace heddle {
namespace {

using Kind = Origin::Kind;

// False where it has no value.
bool take(Kind operation, int64_t a, int64_t b, int64_t& to) {
    switch (operation) {
    case Kind::add: return !__builtin_add_overflow(a, b, &to);
    case Kind::subtract: return !__builtin_sub_overflow(a, b, &to);
    case Kind::multiply: return !__builtin_mul_overflow(a, b, &to);
    case Kind::floor_divide:
        if (b == 0) return false;
        if (b == -1) return !__builtin_sub_overflow(int64_t{0}, a, &to);
        to = floor_divide(a, b);
        return true;
    case Kind::modulo:
        if (b == 0) return false;
        to = b == -1 ? 0 : floor_modulo(a, b);
        return true;
    case Kind::minimum: to = std::min(a, b); return true;
    default: to = std::max(a, b); return true;
    }
}

}  // namespace

int32_t SizeProgram::new_place(int64_t value) {
    begin_.push_back(value);
    return static_cast<int32_t>(begin_.size()) - 1;
}

void SizeProgram::fix(const std::string& name, int64_t value) { fixed_[name] = value; }

std::optional<int64_t> SizeProgram::constant_at(int32_t place) const {
    const int64_t value = begin_[static_cast<size_t>(place)];
    const auto known = constants_.find(value);
    return known != constants_.end() && known->second == place ? std::optional(value) : std::nullopt;
}

int32_t SizeProgram::place_of(const Size& size) {
    return size.named() ? place_of(size.origin()) : place_of_constant(size.number());
}

int32_t SizeProgram::place_of_name(const std::string& name) {
    if (const auto fixed = fixed_.find(name); fixed != fixed_.end()) return place_of_constant(fixed->second);
    const auto [known, is_new] = names_.try_emplace(name, -1);
    if (is_new) known->second = new_place(0);
    return known->second;
}

int32_t SizeProgram::place_of_constant(int64_t value) {
    const auto [known, is_new] = constants_.try_emplace(value, -1);
    if (is_new) known->second = new_place(value);
    return known->second;
}

int32_t SizeProgram::place_of(Kind operation, int32_t a, int32_t b) {
    int64_t value = 0;
    const auto x = constant_at(a), y = constant_at(b);
    if (x && y && take(operation, *x, *y, value)) return place_of_constant(value);
    const auto [known, is_new] = operations_.try_emplace({operation, a, b}, -1);
    if (is_new) {
        known->second = new_place(0);
        steps_.push_back({operation, known->second, a, b});
    }
    return known->second;
}

// Products first, then their multiples: the same product may stand in other sums with other coefficients.
int32_t SizeProgram::place_of_product(const Origin::Term& term, int64_t coefficient) {
    int32_t product = -1, factor = place_of_constant(coefficient);
    for (OriginPointer atom : term.atoms) {
        const int32_t place = place_of(atom);
        if (constant_at(place))
            factor = place_of(Kind::multiply, factor, place);
        else
            product = product < 0 ? place : place_of(Kind::multiply, product, place);
    }
    if (product < 0) return factor;
    return constant_at(factor) == 1 ? product : place_of(Kind::multiply, product, factor);
}

int32_t SizeProgram::place_of_sum(const Origin& sum) {
    int32_t total = -1;
    for (const Origin::Term& term : sum.terms()) {
        const bool subtracted = total >= 0 && term.coefficient < 0;
        const int32_t product = place_of_product(term, subtracted ? -term.coefficient : term.coefficient);
        total = total < 0 ? product : place_of(subtracted ? Kind::subtract : Kind::add, total, product);
    }
    const int64_t constant = sum.constant_value();
    return constant == 0 ? total : place_of(Kind::add, total, place_of_constant(constant));
}

int32_t SizeProgram::place_of(OriginPointer origin) {
    if (const auto known = known_.find(origin); known != known_.end()) return known->second;
    int32_t place = -1;
    switch (origin->kind()) {
    case Kind::name: place = place_of_name(origin->text()); break;
    case Kind::constant: place = place_of_constant(origin->constant_value()); break;
    case Kind::sum: place = place_of_sum(*origin); break;
    default: {
        const int32_t a = place_of(origin->left()), b = place_of(origin->right());
        place = place_of(origin->kind(), a, b);
    }
    }
    known_.emplace(origin, place);
    return place;
}

bool SizeProgram::run(std::vector<int64_t>& values, size_t first, size_t end) const {
    for (size_t i = first; i < end; i++) {
        const Step& step = steps_[i];
        const int64_t a = values[static_cast<size_t>(step.a)], b = values[static_cast<size_t>(step.b)];
        if (!take(step.operation, a, b, values[static_cast<size_t>(step.to)])) return false;
    }
    return true;
}

}  // namespace heddle
