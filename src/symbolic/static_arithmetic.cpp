// Operators, elements and slices of static values.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "symbolic/size_arithmetic.h"
#include "symbolic/static_errors.h"
#include "symbolic/static_operations.h"

namespace heddle {

Result<void> spend_list(int64_t elements, const Place& place, EvaluationBudget& budget) {
    if (elements > largest_static_list) {
        return limit_error(
            place, fmt::format("a list of {} elements; a static list has at most {}", elements, largest_static_list));
    }
    if (!budget.spend(elements + 1)) {
        return limit_error(place,
                           fmt::format("one application takes more than {} steps to evaluate", largest_evaluation));
    }
    return {};
}

namespace {

using Value = StaticValue;

enum class Operator : uint8_t {
    add,
    subtract,
    multiply,
    divide,
    floor_divide,
    modulo,
    power,
    less,
    less_equal,
    greater,
    greater_equal,
    equal,
    not_equal,
    logical_and,
    logical_or,
    unknown
};

Operator operator_of(std::string_view spelled) {
    if (spelled.size() == 1) {
        switch (spelled[0]) {
        case '+': return Operator::add;
        case '-': return Operator::subtract;
        case '*': return Operator::multiply;
        case '/': return Operator::divide;
        case '%': return Operator::modulo;
        case '^': return Operator::power;
        case '<': return Operator::less;
        case '>': return Operator::greater;
        }
    }
    if (spelled == "//") return Operator::floor_divide;
    if (spelled == "==") return Operator::equal;
    if (spelled == "!=") return Operator::not_equal;
    if (spelled == "<=") return Operator::less_equal;
    if (spelled == ">=") return Operator::greater_equal;
    if (spelled == "&&") return Operator::logical_and;
    return spelled == "||" ? Operator::logical_or : Operator::unknown;
}

std::unexpected<Diagnostics> overflow(std::string_view spelled, const Value& a, const Value& b, const Place& place) {
    return static_error("symbolic.overflow", place,
                        fmt::format("{} {} {} does not fit in 64 bits", a.print(), spelled, b.print()));
}

Result<Value> integer_power(const Value& left, const Value& right, const Place& place) {
    int64_t exponent = right.integer();
    if (exponent < 0) {
        return static_error("symbolic.type", place,
                            fmt::format("{} ^ {}: an integer has no negative power", left.print(), right.print()),
                            "write a float base");
    }
    std::optional<Size> result = Size(1), base = left.size();
    while (true) {
        if (exponent & 1) result = product_of_sizes(*result, *base);
        exponent >>= 1;
        if (result && exponent == 0) return Value::of(std::move(*result));
        if (result) base = product_of_sizes(*base, *base);
        if (!result || !base) return overflow("^", left, right, place);
    }
}

Result<Value> integer_arithmetic(Operator op, std::string_view spelled, const Value& left, const Value& right,
                                 const Place& place) {
    const Size &a = left.size(), &b = right.size();
    std::optional<Size> result;
    switch (op) {
    case Operator::power: return integer_power(left, right, place);
    case Operator::add: result = sum_of_sizes(a, b); break;
    case Operator::subtract: result = difference_of_sizes(a, b); break;
    case Operator::multiply: result = product_of_sizes(a, b); break;
    default:
        if (b.value == 0) {
            return static_error("symbolic.division_by_zero", place,
                                fmt::format("{} {} {} divides by zero", left.print(), spelled, right.print()));
        }
        if (op == Operator::divide && b.value != -1 && a.value % b.value != 0) {
            return static_error("symbolic.inexact_division", place,
                                fmt::format("{} / {} is not an integer", a.value, b.value),
                                "write // to round down, or make one of them a float");
        }
        result = op == Operator::modulo ? remainder_of_sizes(a, b) : quotient_of_sizes(a, b);
    }
    if (!result) return overflow(spelled, left, right, place);
    return Value::of(std::move(*result));
}

Result<Value> real_arithmetic(Operator op, std::string_view spelled, const Value& left, const Value& right,
                              const Place& place) {
    double a = left.number(), b = right.number();
    switch (op) {
    case Operator::add: return Value::of(a + b);
    case Operator::subtract: return Value::of(a - b);
    case Operator::multiply: return Value::of(a * b);
    case Operator::divide: return Value::of(a / b);
    case Operator::power: return Value::of(std::pow(a, b));
    default: break;
    }
    if (b == 0) {
        return static_error("symbolic.division_by_zero", place,
                            fmt::format("{} {} {} divides by zero", left.print(), spelled, right.print()));
    }
    double quotient = std::floor(a / b);
    if (op == Operator::floor_divide) return Value::of(quotient);
    double remainder = std::fmod(a, b);
    return Value::of(remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder);
}

bool is_comparison(Operator op) { return op >= Operator::less && op <= Operator::not_equal; }

template <typename T>
bool compare(Operator op, const T& a, const T& b) {
    switch (op) {
    case Operator::less: return a < b;
    case Operator::less_equal: return a <= b;
    case Operator::greater: return a > b;
    default: return a >= b;
    }
}

// Values of different kinds are different, but for an integer and a float, which are numbers.
Result<bool> equal_values(const Value& left, const Value& right, const Place& place, EvaluationBudget& budget) {
    if (auto spent = spend_list(0, place, budget); !spent) return std::unexpected(spent.error());
    if (!left.is_list() || !right.is_list()) {
        if (left.is_number() && right.is_number() && left.kind() != right.kind())
            return left.number() == right.number();
        return left == right;
    }
    if (left.list().size() != right.list().size()) return false;
    for (size_t index = 0; index < left.list().size(); ++index) {
        auto same = equal_values(left.list()[index], right.list()[index], place, budget);
        if (!same || !*same) return same;
    }
    return true;
}

Result<Value> scalar_binary(Operator op, std::string_view spelled, const Value& left, const Value& right,
                            const Place& place) {
    if (op == Operator::logical_and || op == Operator::logical_or) {
        for (const Value* side : {&left, &right}) {
            if (!side->is_boolean())
                return type_error(place, fmt::format("{} joins conditions", spelled), "a bool", *side);
        }
        return Value::of(op == Operator::logical_and ? left.boolean() && right.boolean()
                                                     : left.boolean() || right.boolean());
    }
    if (left.is_text() && right.is_text() && op == Operator::add) {
        if (left.text().size() + right.text().size() > largest_static_list) {
            return limit_error(place, fmt::format("a text of more than {} letters", largest_static_list));
        }
        return Value::of(left.text() + right.text());
    }
    for (const Value* side : {&left, &right}) {
        if (!side->is_number()) return type_error(place, fmt::format("{} needs numbers", spelled), "a number", *side);
    }
    bool integers = left.is_integer() && right.is_integer();
    if (is_comparison(op)) {
        return Value::of(integers ? compare(op, left.integer(), right.integer())
                                  : compare(op, left.number(), right.number()));
    }
    return integers ? integer_arithmetic(op, spelled, left, right, place)
                    : real_arithmetic(op, spelled, left, right, place);
}

Result<Value> binary(Operator op, std::string_view spelled, const Value& left, const Value& right, const Place& place,
                     EvaluationBudget& budget) {
    if (op == Operator::equal || op == Operator::not_equal) {
        // With a scalar a list compares element by element, as all other operators do.
        if (left.is_list() == right.is_list()) {
            auto same = equal_values(left, right, place, budget);
            if (!same) return std::unexpected(same.error());
            return Value::of(*same == (op == Operator::equal));
        }
    } else if (!left.is_list() && !right.is_list()) {
        return scalar_binary(op, spelled, left, right, place);
    }
    bool both = left.is_list() && right.is_list();
    size_t count = left.is_list() ? left.list().size() : right.list().size();
    if (both && left.list().size() != right.list().size()) {
        return static_error(
            "symbolic.length", place,
            fmt::format("{} of lists of different lengths: {} and {}", spelled, left.print(), right.print()));
    }
    if (auto spent = spend_list(static_cast<int64_t>(count), place, budget); !spent)
        return std::unexpected(spent.error());
    Value::List elements;
    elements.reserve(count);
    for (size_t index = 0; index < count; ++index) {
        const Value& a = left.is_list() ? left.list()[index] : left;
        const Value& b = right.is_list() ? right.list()[index] : right;
        auto element = binary(op, spelled, a, b, place, budget);
        if (!element) return element;
        elements.push_back(std::move(*element));
    }
    return Value::of(std::move(elements));
}

Result<int64_t> element_position(const Value& base, size_t count, const Value& index, const Place& place) {
    if (!index.is_integer())
        return type_error(place, "an element is chosen by an integer or a list of integers", "an integer", index);
    int64_t position = index.integer() < 0 ? index.integer() + static_cast<int64_t>(count) : index.integer();
    if (position < 0 || position >= static_cast<int64_t>(count)) {
        return static_error("symbolic.range", place, fmt::format("element {} of {}", index.integer(), base.describe()));
    }
    return position;
}

}  // namespace

Result<StaticValue> static_unary(std::string_view spelled, const StaticValue& operand, const Place& place,
                                 EvaluationBudget& budget) {
    if (operand.is_list()) {
        const auto& list = operand.list();
        if (auto spent = spend_list(static_cast<int64_t>(list.size()), place, budget); !spent) {
            return std::unexpected(spent.error());
        }
        Value::List elements;
        elements.reserve(list.size());
        for (const Value& element : list) {
            auto result = static_unary(spelled, element, place, budget);
            if (!result) return result;
            elements.push_back(std::move(*result));
        }
        return Value::of(std::move(elements));
    }
    if (spelled == "!") {
        if (!operand.is_boolean()) return type_error(place, "! turns a condition round", "a bool", operand);
        return Value::of(!operand.boolean());
    }
    if (operand.is_real()) return Value::of(-operand.real());
    if (!operand.is_integer()) return type_error(place, "- needs a number", "a number", operand);
    auto negative = difference_of_sizes(0, operand.size());
    if (!negative) return overflow("-", Value::of(0), operand, place);
    return Value::of(std::move(*negative));
}

Result<StaticValue> static_binary(std::string_view spelled, const StaticValue& left, const StaticValue& right,
                                  const Place& place, EvaluationBudget& budget) {
    return binary(operator_of(spelled), spelled, left, right, place, budget);
}

Result<StaticValue> static_element(const StaticValue& base, const StaticValue& index, const Place& place,
                                   EvaluationBudget& budget) {
    if (base.is_text()) {
        auto position = element_position(base, base.text().size(), index, place);
        if (!position) return std::unexpected(position.error());
        return Value::of(std::string(1, base.text()[static_cast<size_t>(*position)]));
    }
    if (!base.is_list()) return type_error(place, "only a list has elements", "a list", base);
    if (!index.is_list()) {
        auto position = element_position(base, base.list().size(), index, place);
        if (!position) return std::unexpected(position.error());
        return base.list()[static_cast<size_t>(*position)];
    }
    if (auto spent = spend_list(static_cast<int64_t>(index.list().size()), place, budget); !spent) {
        return std::unexpected(spent.error());
    }
    Value::List picked;
    picked.reserve(index.list().size());
    for (const Value& element : index.list()) {
        auto position = element_position(base, base.list().size(), element, place);
        if (!position) return std::unexpected(position.error());
        picked.push_back(base.list()[static_cast<size_t>(*position)]);
    }
    return Value::of(std::move(picked));
}

Result<StaticValue> static_slice(const StaticValue& base, const StaticValue& from, const StaticValue& to,
                                 const Place& place, EvaluationBudget& budget) {
    if (!base.is_list() && !base.is_text()) return type_error(place, "only a list has slices", "a list", base);
    int64_t count = static_cast<int64_t>(base.is_list() ? base.list().size() : base.text().size());
    int64_t bounds[2] = {0, count};
    const Value* given[2] = {&from, &to};
    for (int side = 0; side < 2; ++side) {
        if (given[side]->is_none()) continue;
        if (!given[side]->is_integer())
            return type_error(place, "a slice is bounded by integers", "an integer", *given[side]);
        int64_t bound = given[side]->integer();
        bounds[side] = std::clamp<int64_t>(bound < 0 ? bound + count : bound, 0, count);
    }
    int64_t length = std::max<int64_t>(0, bounds[1] - bounds[0]);
    if (auto spent = spend_list(length, place, budget); !spent) return std::unexpected(spent.error());
    if (base.is_text())
        return Value::of(base.text().substr(static_cast<size_t>(bounds[0]), static_cast<size_t>(length)));
    auto first = base.list().begin() + bounds[0];
    return Value::of(Value::List(first, first + length));
}

std::optional<Size> broadcast_sizes(const Size& a, const Size& b) {
    if (a.value == b.value) return a.named() ? a : b;
    if (a.value == 1) return b;
    if (b.value == 1) return a;
    return std::nullopt;
}

}  // namespace heddle
