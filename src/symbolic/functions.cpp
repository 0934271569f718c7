// The rules of the functions of language/functions.h: what each does at the binding times that its arguments may have.
// What has no row here is a scalar operation of that name. What a row lacks is refused by one message.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "evaluate/lanes.h"
#include "language/functions.h"
#include "symbolic/function_rules.h"
#include "zspace/size.h"

namespace heddle {
namespace {

using List = Value::List;

// ---- numbers

Value absolute(const FunctionCall& call) {
    const Value& value = call[0];
    if (value.is_real()) return Value::of(std::fabs(value.real()));
    if (!value.is_integer()) call.refuse_argument(0, "abs needs numbers", "a number");
    if (!value.size().named() && value.integer() >= 0) return value;
    return Value::of(maximum(value.size(), call.negative(value).size()));
}

Value clamped(const FunctionCall& call) {
    Value above = call.operations.extreme(false, call[0], call[1], call.place);
    return call.operations.extreme(true, above, call[2], call.place);
}

// To an integer; a float outside 64 bits, or no number, is an error.
template <double (*rounding)(double), Size (SizeQuotient::*of_sizes)() const>
Value rounded(const FunctionCall& call) {
    if (call[0].is_integer()) return call[0];
    if (!call[0].is_real()) call.refuse_argument(0, "only numbers can be rounded", "a number");
    if (call[0].is_of_sizes()) {
        const SizeQuotient sizes = *call[0].quotient();
        if (sizes.below.same_as(1)) return Value::of(sizes.above);
        if (of_sizes != nullptr) return Value::of((sizes.*of_sizes)());
    }
    double whole = rounding(call[0].real());
    if (!(whole >= -0x1p63 && whole < 0x1p63))
        call.refuse_call("symbolic.overflow", fmt::format("{} does not fit in 64 bits", call[0].print()));
    return Value::of(static_cast<int64_t>(whole));
}

Value real_number(const FunctionCall& call) {
    if (!call[0].is_number()) call.refuse_argument(0, "a function of numbers", "a number");
    return call[0].as_real();
}

Value real_element(const FunctionCall& call) {
    Element value = call.operations.element(call[0], call.place);
    if (value.weak == Element::Weak::no)
        call.operations.refuse_type(call.place, "float() is for static values and coordinates",
                                    "a static value or a coordinate", "write a dtype, as in float32(...)");
    return call.binary(ScalarOp::add, call[0], Value::of(0.0));
}

Value divided_up(const FunctionCall& call) {
    for (size_t i = 0; i < 2; ++i)
        if (call[i].is_static() && !call[i].is_number())
            call.refuse_argument(i, "ceildiv divides numbers", "a number");
    if (call[0].is_real() || call[1].is_real()) {
        const Value quotient = call.binary(ScalarOp::divide, call[0], call[1]);
        return call.operations.function("ceil", {&quotient, 1}, call.place);
    }
    if (call[0].is_integer() && call[1].is_integer()) {
        // The form that keeps a readable origin, where it is the same number.
        const Size &a = call[0].size(), &b = call[1].size();
        auto above = a.named() && b > 0 ? checked_add(a, *checked_subtract(b, 1)) : std::nullopt;
        if (above) return call.binary(ScalarOp::floor_divide, Value::of(*above), call[1]);
    }
    return call.negative(call.binary(ScalarOp::floor_divide, call.negative(call[0]), call[1]));
}

template <bool quotient>
Value truncating(const FunctionCall& call) {
    for (size_t i = 0; i < 2; ++i)
        if (!call[i].is_integer()) call.refuse_argument(i, "a truncating division of integers", "an integer");
    int64_t a = call[0].integer(), b = call[1].integer();
    if (b == 0) call.refuse_call("symbolic.division_by_zero", fmt::format("{} divided by zero", a));
    if (b == -1) return quotient ? call.negative(call[0]) : Value::of(0);
    return Value::of(quotient ? a / b : a % b);
}

Value chosen(const FunctionCall& call) {
    if (call[0].is_static() && !call[0].is_boolean()) call.refuse_argument(0, "where chooses by conditions", "a bool");
    return call.operations.select(call[0], call[1], call[2], call.place);
}

template <char reducer>
Value joined(const FunctionCall& call) {
    constexpr std::string_view name = reducer == '+'   ? "sum"
                                      : reducer == '*' ? "prod"
                                      : reducer == '<' ? "min"
                                      : reducer == '>' ? "max"
                                      : reducer == '&' ? "all"
                                                       : "any";
    return call.operations.joined(name, call.arguments, call.place);
}

Value cast_element(const FunctionCall& call) {
    if (!call[1].is_dtype())
        call.operations.refuse_type(call.place, "the second argument of cast is a dtype", "a dtype",
                                    "write $dtype, or a name such as float32");
    return call.operations.cast(call[0], call[1].dtype(), call.place);
}

Value complex_element(const FunctionCall& call) {
    Element real = call.operations.element(call[0], call.place);
    return Value::of(
        call.operations.elements().complex(real, call.operations.element(call[1], call.place), call.place));
}

enum class Counted { ones, length, leading, trailing };
constexpr std::string_view counted_names[] = {"popcount", "bit_length", "leading_zeros", "trailing_zeros"};

template <Counted counted>
Value counted_bits(const FunctionCall& call) {
    if (!call[0].is_integer()) call.refuse_argument(0, "bits are those of an integer", "an integer");
    const auto bits = static_cast<uint64_t>(call[0].integer());
    return Value::of(static_cast<int64_t>(counted == Counted::ones      ? std::popcount(bits)
                                          : counted == Counted::length  ? std::bit_width(bits)
                                          : counted == Counted::leading ? std::countl_zero(bits)
                                                                        : std::countr_zero(bits)));
}

template <Counted counted>
Value counted_bits_of_element(const FunctionCall& call) {
    const Element value = call.operations.element(call[0], call.place);
    return Value::of(
        call.operations.elements().bits_counted(counted_names[static_cast<size_t>(counted)], value, call.place));
}

Value user_error(const FunctionCall& call) {
    call.refuse_call("symbolic.user_error", call[0].is_text() ? call[0].text() : call[0].print());
}

// ---- dtypes

DType dtype_argument(const FunctionCall& call, size_t position = 0) {
    if (!call[position].is_dtype()) call.refuse_argument(position, "a function of dtypes", "a dtype");
    return call[position].dtype();
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

Value promoted(const FunctionCall& call) {
    if (call.arguments.empty()) call.refuse_call("symbolic.arguments", "promote of an empty list");
    DType result = dtype_argument(call);
    for (size_t i = 1; i < call.arguments.size(); ++i) result = promote(result, dtype_argument(call, i));
    return Value::of(result);
}

// What changes nothing in a maximum, or in a minimum.
template <Reducer reducer>
Value extreme_of(const FunctionCall& call) {
    const DType dtype = dtype_argument(call);
    const NeutralTerm extreme = neutral(reducer, dtype);
    if (is_float(dtype)) return Value::of(extreme.real);
    if (is_bool(dtype)) return Value::of(extreme.integer != 0);
    if (is_complex(dtype)) call.refuse_call("symbolic.complex", "complex numbers have no order");
    if (dtype == DType::uint64 && reducer == Reducer::minimum)
        call.refuse_call("symbolic.overflow", "the highest uint64 does not fit in 64 signed bits");
    return Value::of(extreme.integer);
}

Value largest_finite(const FunctionCall& call) {
    DType dtype = dtype_argument(call);
    return is_float(dtype) ? Value::of(info(dtype).format.greatest) : extreme_of<Reducer::minimum>(call);
}

// ---- the table

constexpr std::array rules = {
    FunctionRule{.name = "sum", .any = joined<'+'>},
    FunctionRule{.name = "prod", .any = joined<'*'>},
    FunctionRule{.name = "min", .any = joined<'<'>},
    FunctionRule{.name = "max", .any = joined<'>'>},
    FunctionRule{.name = "all", .any = joined<'&'>},
    FunctionRule{.name = "any", .any = joined<'|'>},
    FunctionRule{.name = "abs", .fixed = absolute},
    FunctionRule{.name = "clamp", .any = clamped},
    FunctionRule{.name = "floor", .fixed = rounded<std::floor, &SizeQuotient::floor>},
    FunctionRule{.name = "ceil", .fixed = rounded<std::ceil, &SizeQuotient::ceil>},
    FunctionRule{.name = "round", .fixed = rounded<std::nearbyint, nullptr>},
    FunctionRule{.name = "trunc", .fixed = rounded<std::trunc, &SizeQuotient::trunc>},
    FunctionRule{.name = "float", .fixed = real_number, .element = real_element},
    FunctionRule{.name = "ceildiv", .any = divided_up},
    FunctionRule{.name = "where", .any = chosen},
    FunctionRule{.name = "error", .fixed = user_error},
    FunctionRule{.name = "is_float",
                 .fixed = [](const FunctionCall& call) { return Value::of(is_float(dtype_argument(call))); }},
    FunctionRule{.name = "is_int",
                 .fixed = [](const FunctionCall& call) { return Value::of(is_integer(dtype_argument(call))); }},
    FunctionRule{.name = "is_complex",
                 .fixed = [](const FunctionCall& call) { return Value::of(is_complex(dtype_argument(call))); }},
    FunctionRule{.name = "bits",
                 .fixed = [](const FunctionCall& call) { return Value::of(int64_t{info(dtype_argument(call)).bits}); }},
    FunctionRule{.name = "accumulator",
                 .fixed = [](const FunctionCall& call) { return Value::of(info(dtype_argument(call)).accumulator); }},
    FunctionRule{.name = "promote", .fixed = promoted},
    FunctionRule{.name = "lowest", .fixed = extreme_of<Reducer::maximum>},
    FunctionRule{.name = "highest", .fixed = extreme_of<Reducer::minimum>},
    FunctionRule{.name = "largest_finite", .fixed = largest_finite},
    FunctionRule{.name = "cast", .element = cast_element},
    FunctionRule{.name = "trunc_div", .fixed = truncating<true>},
    FunctionRule{.name = "trunc_rem", .fixed = truncating<false>},
    FunctionRule{
        .name = "popcount", .fixed = counted_bits<Counted::ones>, .element = counted_bits_of_element<Counted::ones>},
    FunctionRule{.name = "bit_length",
                 .fixed = counted_bits<Counted::length>,
                 .element = counted_bits_of_element<Counted::length>},
    FunctionRule{.name = "leading_zeros",
                 .fixed = counted_bits<Counted::leading>,
                 .element = counted_bits_of_element<Counted::leading>},
    FunctionRule{.name = "trailing_zeros",
                 .fixed = counted_bits<Counted::trailing>,
                 .element = counted_bits_of_element<Counted::trailing>},
    FunctionRule{.name = "complex", .element = complex_element},
};

// ---- scalar operations

// On static values: in 64 bits, by the interpreter's own code.
Value static_scalar(ScalarOp op, const FunctionCall& call) {
    bool integers = true, booleans = true;
    for (const Value& value : call.arguments) {
        integers = integers && value.is_integer();
        booleans = booleans && value.is_boolean();
    }
    const bool keeps = is_bitwise(op) || op == ScalarOp::sign;
    const bool of_bools =
        op == ScalarOp::logical_xor || (booleans && op >= ScalarOp::bit_and && op <= ScalarOp::bit_xor);
    DType dtype = of_bools ? DType::boolean : integers && keeps ? DType::int64 : DType::float64;
    int64_t whole[3] = {};
    double real[3] = {};
    for (size_t i = 0; i < call.arguments.size(); ++i) {
        const Value& value = call[i];
        std::string_view wanted = of_bools ? "a bool" : is_bitwise(op) ? "an integer" : "a number";
        if (of_bools ? !value.is_boolean() : is_bitwise(op) ? !value.is_integer() : !value.is_number())
            call.refuse_argument(i, fmt::format("an argument of {}", info(op).name), std::string(wanted));
        if (is_float(dtype))
            real[i] = value.number();
        else
            whole[i] = of_bools ? value.boolean() : value.integer();
    }
    const void* operands[3];
    for (size_t i = 0; i < 3; ++i) operands[i] = is_float(dtype) ? static_cast<void*>(real + i) : whole + i;
    int64_t result_whole = 0;
    double result_real = 0;
    const bool truth = of_bools || info(op).kind == ScalarClass::predicate;
    const bool is_real = is_float(dtype) && !truth;
    evaluation::scalar_kernel(op, dtype, evaluation::lane_type(dtype, true))(
        is_real ? static_cast<void*>(&result_real) : &result_whole, operands, 1);
    if (is_real) return Value::of(result_real);
    return truth ? Value::of(result_whole != 0) : Value::of(result_whole);
}

Value scalar_element(ScalarOp op, const FunctionCall& call) {
    BodyElements& elements = call.operations.elements();
    Element a = call.operations.element(call[0], call.place);
    if (info(op).operands == 1) return Value::of(elements.unary_function(op, a, call.place));
    const Element b = call.operations.element(call[1], call.place);
    if (info(op).operands == 2) return Value::of(elements.binary_function(op, a, b, call.place));
    return Value::of(elements.ternary_function(op, a, b, call.operations.element(call[2], call.place), call.place));
}

struct Function {
    const FunctionInfo* info = nullptr;
    FunctionRule rule;
    std::optional<ScalarOp> op;  // of that name, where the rule does not say what an element becomes
    bool is_static_op = false;
};

const Function* function_of(std::string_view name) {
    static const std::unordered_map<std::string_view, Function> table = [] {
        std::unordered_map<std::string_view, Function> made;
        for (const FunctionInfo& row : all_functions()) {
            Function function{.info = &row, .rule = {}, .op = std::nullopt};
            for (std::span<const FunctionRule> each : {std::span<const FunctionRule>(rules), list_function_rules()}) {
                auto rule = std::ranges::find(each, row.name, &FunctionRule::name);
                if (rule != each.end()) function.rule = *rule;
            }
            if (!function.rule.any && !function.rule.element) function.op = scalar_op_named(row.name);
            function.is_static_op = function.op && !function.rule.fixed && !is_complex(*function.op);
            made.emplace(row.name, function);
        }
        return made;
    }();
    auto found = table.find(name);
    return found == table.end() ? nullptr : &found->second;
}

// The one message for what a function does not do where it stands.
[[noreturn]] void refuse_function(std::string_view name, const FunctionCall& call) {
    auto moving = std::ranges::find_if_not(call.arguments, &Value::is_static);
    bool needs_elements = moving == call.arguments.end();
    Diagnostic diagnostic =
        call.operations.error("symbolic.type", call.place,
                              fmt::format("{} works on {} only", name, needs_elements ? "elements" : "static values"));
    diagnostic.expected = needs_elements ? "an element of a body" : "static arguments";
    diagnostic.found = needs_elements ? "static values, outside of a body" : moving->describe();
    diagnostic.remedy = needs_elements
                            ? fmt::format("compute {} in a body", name)
                            : "give it what is known when the operator is applied: numbers, sizes, parameters";
    throw EvaluationFailure{{std::move(diagnostic)}};
}

Value applied(const Function& function, std::string_view name, const FunctionCall& call, bool in_body) {
    const FunctionRule& rule = function.rule;
    const bool fixed = std::ranges::all_of(call.arguments, &Value::is_static);
    const bool element = in_body && (rule.element || function.op);
    if (!(rule.any || (fixed && (rule.fixed || function.is_static_op)) || element)) refuse_function(name, call);
    Value result = rule.any                         ? rule.any(call)
                   : fixed && rule.fixed            ? rule.fixed(call)
                   : fixed && function.is_static_op ? static_scalar(*function.op, call)
                   : rule.element                   ? rule.element(call)
                                                    : scalar_element(*function.op, call);
    bool marked = result.from_template() && std::ranges::all_of(call.arguments, &Value::from_template);
    return result.is_static() ? std::move(result).with_from_template(marked) : result;
}

}  // namespace

Value Operations::function(std::string_view name, Arguments arguments, const Place& place) {
    for (const Value& argument : arguments) {
        if (argument.is_failed()) throw EvaluationFailure{};
        if (argument.is_none())
            refuse(type_error(place, fmt::format("an argument of {} was not given", name), "a value", argument));
    }
    spend(1, place);
    const Function* function = function_of(name);
    auto dtype = function ? std::nullopt : dtype_named(name);
    if (!function && !dtype) {
        std::string near = nearest_name(std::string(name), function_names());
        refuse(static_error("symbolic.unknown_function", place, fmt::format("unknown function '{}'", name),
                            near.empty() ? "" : fmt::format("did you mean {}?", near)));
    }
    int least = dtype ? 1 : function->info->least, most = dtype ? 1 : function->info->most;
    int given = static_cast<int>(arguments.size());
    if (given < least || (most >= 0 && given > most)) {
        std::string wanted = least == most ? std::to_string(least)
                             : most < 0    ? fmt::format("{} or more", least)
                                           : fmt::format("{} to {}", least, most);
        refuse(static_error("symbolic.arguments", place,
                            fmt::format("{} takes {} argument{}, not {}", name, wanted, most == 1 ? "" : "s", given)));
    }
    if (dtype) {
        const Value with_dtype[] = {arguments[0], Value::of(*dtype)};
        const Function& to_dtype = *function_of("cast");
        return zip(with_dtype, name, place,
                   [&](Arguments scalars) { return applied(to_dtype, name, {*this, scalars, place}, elements_); });
    }
    if (function->info->lists == ListArguments::each)
        return zip(arguments, name, place,
                   [&](Arguments scalars) { return applied(*function, name, {*this, scalars, place}, elements_); });
    if (function->info->lists == ListArguments::whole || given != 1 || !arguments[0].is_list())
        return applied(*function, name, {*this, arguments, place}, elements_);
    Value::List terms;
    terms.reserve(list(arguments[0], place).size());
    for (size_t i = 0; i < arguments[0].list().size(); ++i) terms.push_back(arguments[0].at(i));
    return applied(*function, name, {*this, terms, place}, elements_);
}

}  // namespace heddle
