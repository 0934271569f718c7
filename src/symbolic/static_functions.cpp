// The functions of numbers, conditions and dtypes; the table of all functions.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "symbolic/size_arithmetic.h"
#include "symbolic/static_errors.h"
#include "symbolic/static_function_table.h"

namespace heddle {
namespace {

using Value = StaticValue;
using Arguments = std::span<const StaticValue>;

// Applies `function` to a value, or to each element of a list.
template <typename Function>
Result<Value> each_element(const Value& value, const Place& place, EvaluationBudget& budget, const Function& function) {
    if (!value.is_list()) return function(value);
    if (auto spent = spend_list(static_cast<int64_t>(value.list().size()), place, budget); !spent) {
        return std::unexpected(spent.error());
    }
    Value::List elements;
    elements.reserve(value.list().size());
    for (const Value& element : value.list()) {
        auto result = each_element(element, place, budget, function);
        if (!result) return result;
        elements.push_back(std::move(*result));
    }
    return Value::of(std::move(elements));
}

// The same for several values, scalars repeating beside lists.
template <typename Function>
Result<Value> each_together(Arguments values, const Place& place, EvaluationBudget& budget, const Function& function) {
    const Value* longest = nullptr;
    for (const Value& value : values) {
        if (!value.is_list()) continue;
        if (longest && longest->list().size() != value.list().size()) {
            return static_error("symbolic.length", place,
                                fmt::format("lists of different lengths: {} and {}", longest->print(), value.print()));
        }
        longest = &value;
    }
    if (!longest) return function(values);
    size_t count = longest->list().size();
    if (auto spent = spend_list(static_cast<int64_t>(count), place, budget); !spent)
        return std::unexpected(spent.error());
    Value::List elements, row(values.size());
    elements.reserve(count);
    for (size_t index = 0; index < count; ++index) {
        for (size_t side = 0; side < values.size(); ++side) {
            row[side] = values[side].is_list() ? values[side].list()[index] : values[side];
        }
        auto result = each_together(row, place, budget, function);
        if (!result) return result;
        elements.push_back(std::move(*result));
    }
    return Value::of(std::move(elements));
}

Result<Value> minimum_or_maximum(bool minimum, const Value& a, const Value& b, const Place& place) {
    for (const Value* side : {&a, &b}) {
        if (!side->is_number())
            return type_error(place, minimum ? "min needs numbers" : "max needs numbers", "a number", *side);
    }
    if (a.is_integer() && b.is_integer()) {
        return Value::of(minimum ? heddle::minimum(a.size(), b.size()) : heddle::maximum(a.size(), b.size()));
    }
    double x = a.number(), y = b.number();
    if (std::isnan(x) || std::isnan(y)) return Value::of(std::numeric_limits<double>::quiet_NaN());
    return Value::of(minimum ? std::min(x, y) : std::max(x, y));
}

Result<Value> minimum_or_maximum_of(bool minimum, Arguments arguments, const Place& place, EvaluationBudget& budget) {
    Arguments terms = arguments;
    if (arguments.size() == 1 && arguments[0].is_list()) terms = arguments[0].list();
    if (terms.empty()) {
        return static_error("symbolic.arguments", place, fmt::format("{} of an empty list", minimum ? "min" : "max"));
    }
    Value result = terms[0];
    for (const Value& term : terms.subspan(1)) {
        const Value pair[] = {result, term};
        auto next = each_together(pair, place, budget, [&](Arguments values) {
            return minimum_or_maximum(minimum, values[0], values[1], place);
        });
        if (!next) return next;
        result = std::move(*next);
    }
    if (!result.is_number() && !result.is_list())
        return type_error(place, "only numbers have an order", "a number", result);
    return result;
}

Result<Value> minimum_of(Arguments a, const Place& p, EvaluationBudget& b) {
    return minimum_or_maximum_of(true, a, p, b);
}
Result<Value> maximum_of(Arguments a, const Place& p, EvaluationBudget& b) {
    return minimum_or_maximum_of(false, a, p, b);
}

// Folds a list (or several arguments) with an operator from its neutral value.
Result<Value> fold(std::string_view spelled, Value start, Arguments arguments, const Place& place,
                   EvaluationBudget& budget) {
    Arguments terms = arguments;
    if (arguments.size() == 1 && arguments[0].is_list()) terms = arguments[0].list();
    if (auto spent = spend_list(static_cast<int64_t>(terms.size()), place, budget); !spent) {
        return std::unexpected(spent.error());
    }
    Value result = std::move(start);
    for (const Value& term : terms) {
        auto next = static_binary(spelled, result, term, place, budget);
        if (!next) return next;
        result = std::move(*next);
    }
    return result;
}

Result<Value> sum_of(Arguments a, const Place& p, EvaluationBudget& b) { return fold("+", Value::of(0), a, p, b); }
Result<Value> product_of(Arguments a, const Place& p, EvaluationBudget& b) { return fold("*", Value::of(1), a, p, b); }
Result<Value> all_of(Arguments a, const Place& p, EvaluationBudget& b) { return fold("&&", Value::of(true), a, p, b); }
Result<Value> any_of(Arguments a, const Place& p, EvaluationBudget& b) { return fold("||", Value::of(false), a, p, b); }

Result<Value> absolute(Arguments arguments, const Place& place, EvaluationBudget& budget) {
    return each_element(arguments[0], place, budget, [&](const Value& value) -> Result<Value> {
        if (value.is_real()) return Value::of(std::fabs(value.real()));
        if (!value.is_integer()) return type_error(place, "abs needs numbers", "a number", value);
        if (!value.size().named() && value.integer() >= 0) return value;
        auto negative = static_unary("-", value, place, budget);
        if (!negative) return negative;
        return Value::of(maximum(value.size(), negative->size()));
    });
}

Result<Value> clamp(Arguments arguments, const Place& place, EvaluationBudget& budget) {
    return each_together(arguments, place, budget, [&](Arguments values) -> Result<Value> {
        auto above = minimum_or_maximum(false, values[0], values[1], place);
        if (!above) return above;
        return minimum_or_maximum(true, *above, values[2], place);
    });
}

using RealFunction = double (*)(double);

// To an integer; a float outside 64 bits, or no number, is an error.
Result<Value> to_integer(const Value& value, RealFunction rounding, const Place& place) {
    if (value.is_integer()) return value;
    if (!value.is_real()) return type_error(place, "only numbers can be rounded", "a number", value);
    double rounded = rounding(value.real());
    if (!(rounded >= -0x1p63 && rounded < 0x1p63)) {
        return static_error("symbolic.overflow", place, fmt::format("{} does not fit in 64 bits", value.print()));
    }
    return Value::of(static_cast<int64_t>(rounded));
}

template <RealFunction rounding>
Result<Value> rounded(Arguments arguments, const Place& place, EvaluationBudget& budget) {
    return each_element(arguments[0], place, budget,
                        [&](const Value& value) { return to_integer(value, rounding, place); });
}

double to_even(double x) { return std::nearbyint(x); }
double floor_of(double x) { return std::floor(x); }
double ceil_of(double x) { return std::ceil(x); }
double trunc_of(double x) { return std::trunc(x); }
double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
double rsqrt_of(double x) { return 1 / std::sqrt(x); }
double itself(double x) { return x; }

template <double (*function)(double)>
Result<Value> real_function(Arguments arguments, const Place& place, EvaluationBudget& budget) {
    return each_element(arguments[0], place, budget, [&](const Value& value) -> Result<Value> {
        if (!value.is_number()) return type_error(place, "a function of numbers", "a number", value);
        return Value::of(function(value.number()));
    });
}

Result<Value> divide_up(Arguments arguments, const Place& place, EvaluationBudget& budget) {
    return each_together(arguments, place, budget, [&](Arguments values) -> Result<Value> {
        for (const Value& value : values) {
            if (!value.is_integer()) return type_error(place, "ceildiv divides integers", "an integer", value);
        }
        const Size &a = values[0].size(), &b = values[1].size();
        // The form that keeps a readable origin, where it is the same number.
        auto above = b.value > 0 && a.named() ? sum_of_sizes(a, *difference_of_sizes(b, 1)) : std::nullopt;
        if (above) return static_binary("//", Value::of(*above), values[1], place, budget);
        auto negative = static_unary("-", values[0], place, budget);
        if (!negative) return negative;
        auto quotient = static_binary("//", *negative, values[1], place, budget);
        return quotient ? static_unary("-", *quotient, place, budget) : quotient;
    });
}

Result<Value> truncating(bool quotient, Arguments arguments, const Place& place, EvaluationBudget& budget) {
    return each_together(arguments, place, budget, [&](Arguments values) -> Result<Value> {
        for (const Value& value : values) {
            if (!value.is_integer()) return type_error(place, "a truncating division of integers", "an integer", value);
        }
        int64_t a = values[0].integer(), b = values[1].integer();
        if (b == 0) return static_error("symbolic.division_by_zero", place, fmt::format("{} divided by zero", a));
        if (b == -1) return quotient ? static_unary("-", values[0], place, budget) : Result<Value>(Value::of(0));
        return Value::of(quotient ? a / b : a % b);
    });
}
Result<Value> truncating_divide(Arguments a, const Place& p, EvaluationBudget& b) { return truncating(true, a, p, b); }
Result<Value> truncating_remainder(Arguments a, const Place& p, EvaluationBudget& b) {
    return truncating(false, a, p, b);
}

Result<Value> choose(Arguments arguments, const Place& place, EvaluationBudget& budget) {
    return each_together(arguments, place, budget, [&](Arguments values) -> Result<Value> {
        if (!values[0].is_boolean()) return type_error(place, "where chooses by conditions", "a bool", values[0]);
        return values[0].boolean() ? values[1] : values[2];
    });
}

// ---- dtypes

Result<DType> dtype_argument(const Value& value, const Place& place) {
    if (!value.is_dtype()) return type_error(place, "a function of dtypes", "a dtype", value);
    return value.dtype();
}

template <typename Function>
Result<Value> dtype_function(Arguments arguments, const Place& place, const Function& function) {
    auto dtype = dtype_argument(arguments[0], place);
    if (!dtype) return std::unexpected(dtype.error());
    return Value::of(function(*dtype));
}

Result<Value> dtype_is_float(Arguments a, const Place& p, EvaluationBudget&) { return dtype_function(a, p, is_float); }
Result<Value> dtype_is_integer(Arguments a, const Place& p, EvaluationBudget&) {
    return dtype_function(a, p, is_integer);
}
Result<Value> dtype_is_complex(Arguments a, const Place& p, EvaluationBudget&) {
    return dtype_function(a, p, [](DType dtype) { return is_complex(dtype); });
}
Result<Value> dtype_bits(Arguments a, const Place& p, EvaluationBudget&) {
    return dtype_function(a, p, [](DType dtype) { return static_cast<int64_t>(info(dtype).bits); });
}
Result<Value> dtype_accumulator(Arguments a, const Place& p, EvaluationBudget&) {
    return dtype_function(a, p, [](DType dtype) { return info(dtype).accumulator; });
}

// NumPy's promotion: the smallest type that holds both.
DType promote(DType a, DType b) {
    if (a == b || is_bool(b)) return a;
    if (is_bool(a)) return b;
    if (is_complex(a) || is_complex(b))
        return promote(real_type(a), real_type(b)) == DType::float64 ? DType::complex128 : DType::complex64;
    if (is_float(a) && is_float(b)) {
        if (holds(a, b)) return a;
        return holds(b, a) ? b : DType::float32;
    }
    if (is_float(b)) std::swap(a, b);
    if (is_float(a)) {
        DType held = info(b).bits <= 8 ? DType::float16 : info(b).bits <= 16 ? DType::float32 : DType::float64;
        return promote(a, held == DType::float16 && info(a).bits >= 16 ? a : held);
    }
    if (info(a).kind == info(b).kind) return info(a).bits >= info(b).bits ? a : b;
    if (info(a).kind == DTypeClass::unsigned_integer) std::swap(a, b);  // a is signed, b is not
    if (info(a).bits > info(b).bits) return a;
    switch (info(b).bits) {
    case 4: return DType::int8;
    case 8: return DType::int16;
    case 16: return DType::int32;
    case 32: return DType::int64;
    default: return DType::float64;
    }
}

Result<Value> promoted(Arguments arguments, const Place& place, EvaluationBudget&) {
    auto a = dtype_argument(arguments[0], place), b = dtype_argument(arguments[1], place);
    if (!a) return std::unexpected(a.error());
    if (!b) return std::unexpected(b.error());
    return Value::of(promote(*a, *b));
}

Result<Value> extreme(bool lowest, Arguments arguments, const Place& place) {
    auto dtype = dtype_argument(arguments[0], place);
    if (!dtype) return std::unexpected(dtype.error());
    if (is_float(*dtype)) {
        double infinity = std::numeric_limits<double>::infinity();
        return Value::of(lowest ? -infinity : infinity);
    }
    if (is_bool(*dtype)) return Value::of(!lowest);
    if (is_complex(*dtype)) return static_error("symbolic.complex", place, "complex numbers have no order");
    int bits = info(*dtype).bits;
    if (info(*dtype).kind == DTypeClass::signed_integer) {
        int64_t low = std::numeric_limits<int64_t>::min() >> (64 - bits);
        return Value::of(lowest ? low : -(low + 1));
    }
    if (lowest) return Value::of(0);
    if (bits == 64)
        return static_error("symbolic.overflow", place, "the highest uint64 does not fit in 64 signed bits");
    return Value::of((int64_t{1} << bits) - 1);
}
Result<Value> lowest_of(Arguments a, const Place& p, EvaluationBudget&) { return extreme(true, a, p); }
Result<Value> highest_of(Arguments a, const Place& p, EvaluationBudget&) { return extreme(false, a, p); }

Result<Value> largest_finite(Arguments arguments, const Place& place, EvaluationBudget&) {
    auto dtype = dtype_argument(arguments[0], place);
    if (!dtype) return std::unexpected(dtype.error());
    return is_float(*dtype) ? Value::of(info(*dtype).format.greatest) : extreme(false, arguments, place);
}

Result<Value> user_error(Arguments arguments, const Place& place, EvaluationBudget&) {
    std::string message = arguments[0].is_text() ? arguments[0].text() : arguments[0].print();
    return static_error("symbolic.user_error", place, std::move(message));
}

constexpr size_t any_number = 64;

constexpr std::array scalar_functions = {
    StaticFunction{"sum", 1, any_number, sum_of},
    StaticFunction{"prod", 1, any_number, product_of},
    StaticFunction{"min", 1, any_number, minimum_of},
    StaticFunction{"max", 1, any_number, maximum_of},
    StaticFunction{"all", 1, any_number, all_of},
    StaticFunction{"any", 1, any_number, any_of},
    StaticFunction{"abs", 1, 1, absolute},
    StaticFunction{"clamp", 3, 3, clamp},
    StaticFunction{"floor", 1, 1, rounded<floor_of>},
    StaticFunction{"ceil", 1, 1, rounded<ceil_of>},
    StaticFunction{"round", 1, 1, rounded<to_even>},
    StaticFunction{"trunc", 1, 1, rounded<trunc_of>},
    StaticFunction{"sqrt", 1, 1, real_function<std::sqrt>},
    StaticFunction{"rsqrt", 1, 1, real_function<rsqrt_of>},
    StaticFunction{"exp", 1, 1, real_function<std::exp>},
    StaticFunction{"log", 1, 1, real_function<std::log>},
    StaticFunction{"log2", 1, 1, real_function<std::log2>},
    StaticFunction{"sin", 1, 1, real_function<std::sin>},
    StaticFunction{"cos", 1, 1, real_function<std::cos>},
    StaticFunction{"tan", 1, 1, real_function<std::tan>},
    StaticFunction{"tanh", 1, 1, real_function<std::tanh>},
    StaticFunction{"erf", 1, 1, real_function<std::erf>},
    StaticFunction{"sigmoid", 1, 1, real_function<sigmoid_of>},
    StaticFunction{"float", 1, 1, real_function<itself>},
    StaticFunction{"ceildiv", 2, 2, divide_up},
    StaticFunction{"trunc_div", 2, 2, truncating_divide},
    StaticFunction{"trunc_rem", 2, 2, truncating_remainder},
    StaticFunction{"where", 3, 3, choose},
    StaticFunction{"is_float", 1, 1, dtype_is_float},
    StaticFunction{"is_int", 1, 1, dtype_is_integer},
    StaticFunction{"is_complex", 1, 1, dtype_is_complex},
    StaticFunction{"bits", 1, 1, dtype_bits},
    StaticFunction{"accumulator", 1, 1, dtype_accumulator},
    StaticFunction{"promote", 2, 2, promoted},
    StaticFunction{"lowest", 1, 1, lowest_of},
    StaticFunction{"highest", 1, 1, highest_of},
    StaticFunction{"largest_finite", 1, 1, largest_finite},
    StaticFunction{"error", 1, 1, user_error},
};

const StaticFunction* find(std::string_view name) {
    for (const StaticFunction& function : scalar_functions) {
        if (function.name == name) return &function;
    }
    for (const StaticFunction& function : static_list_functions()) {
        if (function.name == name) return &function;
    }
    return nullptr;
}

}  // namespace

bool is_static_function(std::string_view name) { return find(name) != nullptr; }

Result<StaticValue> static_function(std::string_view name, std::span<const StaticValue> arguments, const Place& place,
                                    EvaluationBudget& budget) {
    const StaticFunction* function = find(name);
    if (!function) {
        std::vector<std::string> known;
        for (const StaticFunction& row : scalar_functions) known.emplace_back(row.name);
        for (const StaticFunction& row : static_list_functions()) known.emplace_back(row.name);
        std::string near = nearest_name(std::string(name), known);
        return static_error("symbolic.unknown_function", place,
                            fmt::format("there is no function {} of static values", name),
                            near.empty() ? "" : fmt::format("did you mean {}?", near));
    }
    if (arguments.size() < function->fewest || arguments.size() > function->most) {
        return static_error(
            "symbolic.arguments", place,
            fmt::format("{} takes {} argument{}, not {}", name,
                        function->fewest == function->most ? std::to_string(function->fewest)
                                                           : fmt::format("{} or more", function->fewest),
                        function->fewest == 1 ? "" : "s", arguments.size()));
    }
    for (const StaticValue& argument : arguments) {
        if (argument.is_none())
            return type_error(place, fmt::format("an argument of {} was not given", name), "a value", argument);
    }
    if (!budget.spend(1)) return limit_error(place, "one application takes too many steps to evaluate");
    return function->evaluate(arguments, place, budget);
}

}  // namespace heddle
