// The rules of the functions of language/functions.h: what each does at the binding times that its arguments may have.
// What has no row here is a scalar operation of that name. What a row lacks is refused by one message.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "evaluate/lanes.h"
#include "language/functions.h"
#include "symbolic/operations.h"
#include "symbolic/size_arithmetic.h"

namespace heddle {
namespace {

using List = Value::List;

struct FunctionCall {
    Operations& operations;
    Arguments arguments;
    const Place& place;

    const Value& operator[](size_t position) const { return arguments[position]; }
    const List& list(size_t position) const { return operations.list(arguments[position], place); }
    Value binary(ScalarOp op, const Value& a, const Value& b) const { return operations.binary(op, a, b, place); }
    Value negative(const Value& a) const { return operations.unary("-", a, place); }
    [[noreturn]] void refuse_argument(size_t position, std::string summary, std::string expected) const {
        refuse(type_error(place, std::move(summary), std::move(expected), arguments[position]));
    }
    [[noreturn]] void refuse_call(std::string code, std::string summary, std::string remedy = {}) const {
        refuse(static_error(std::move(code), place, std::move(summary), std::move(remedy)));
    }
};

using Rule = Value (*)(const FunctionCall& call);

struct FunctionRule {
    std::string_view name;
    Rule any = nullptr;      // made of operators: right at any binding time
    Rule fixed = nullptr;    // of static values
    Rule element = nullptr;  // in a body
};

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
template <double (*rounding)(double)>
Value rounded(const FunctionCall& call) {
    if (call[0].is_integer()) return call[0];
    if (!call[0].is_real()) call.refuse_argument(0, "only numbers can be rounded", "a number");
    double whole = rounding(call[0].real());
    if (!(whole >= -0x1p63 && whole < 0x1p63))
        call.refuse_call("symbolic.overflow", fmt::format("{} does not fit in 64 bits", call[0].print()));
    return Value::of(static_cast<int64_t>(whole));
}

Value real_number(const FunctionCall& call) {
    if (!call[0].is_number()) call.refuse_argument(0, "a function of numbers", "a number");
    return Value::of(call[0].number());
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
        if (call[i].is_static() && !call[i].is_integer())
            call.refuse_argument(i, "ceildiv divides integers", "an integer");
    if (call[0].is_integer() && call[1].is_integer()) {
        // The form that keeps a readable origin, where it is the same number.
        const Size &a = call[0].size(), &b = call[1].size();
        auto above = b.value > 0 && a.named() ? sum_of_sizes(a, *difference_of_sizes(b, 1)) : std::nullopt;
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

// ---- lists

int64_t integer_argument(const FunctionCall& call, size_t position) {
    return call.operations.integer(call[position], "an argument", call.place);
}

// Positions: an integer or a list of integers, each in [0, limit) (negative ones count from the end), none twice.
std::vector<size_t> positions_of(const FunctionCall& call, size_t argument, size_t limit) {
    const Value& value = call[argument];
    std::vector<size_t> positions;
    std::vector<bool> taken(limit, false);
    for (size_t i = 0; i < (value.is_list() ? value.list().size() : 1); ++i) {
        int64_t given = call.operations.integer(value.at(i), "a position", call.place);
        int64_t position = given < 0 ? given + static_cast<int64_t>(limit) : given;
        if (position < 0 || position >= static_cast<int64_t>(limit))
            call.refuse_call("symbolic.range", fmt::format("position {} in a list of {} elements", given, limit));
        auto at = static_cast<size_t>(position);
        if (taken[at]) call.refuse_call("symbolic.arguments", fmt::format("position {} twice", given));
        taken[at] = true;
        positions.push_back(at);
    }
    return positions;
}

// A list of as many values as positions, or one for all of them.
void check_values(const FunctionCall& call, size_t count) {
    if (call[2].is_list() && call[2].list().size() != count)
        call.refuse_call("symbolic.length", fmt::format("{} positions, but {} values", count, call[2].list().size()));
}

Value length(const FunctionCall& call) {
    if (call[0].is_text()) return Value::of(static_cast<int64_t>(call[0].text().size()));
    if (!call[0].is_list()) call.refuse_argument(0, "len counts the elements of a list", "a list");
    return Value::of(static_cast<int64_t>(call[0].list().size())).with_from_template(call[0].is_static());
}

Value contains(const FunctionCall& call) {
    if (call[0].is_text()) {
        if (!call[1].is_text()) call.refuse_argument(1, "contains looks for a text in a text", "a text");
        return Value::of(call[0].text().find(call[1].text()) != std::string::npos);
    }
    return Value::of(std::ranges::find(call.list(0), call[1]) != call[0].list().end());
}

Value position(const FunctionCall& call) {
    const List& list = call.list(0);
    auto found = std::ranges::find(list, call[1]);
    if (found == list.end())
        call.refuse_call("symbolic.range", fmt::format("{} does not contain {}", call[0].print(), call[1].print()));
    return Value::of(static_cast<int64_t>(found - list.begin()));
}

Value unique(const FunctionCall& call) {
    List result;
    for (const Value& element : call.list(0)) {
        call.operations.spend(static_cast<int64_t>(result.size()), call.place);
        if (std::ranges::find(result, element) == result.end()) result.push_back(element);
    }
    return Value::of(std::move(result));
}

Value sorted(const FunctionCall& call) {
    List result = call.list(0);
    bool numbers = std::ranges::all_of(result, &Value::is_integer),
         texts = std::ranges::all_of(result, &Value::is_text);
    if (!numbers && !texts) call.refuse_call("symbolic.type", "sort orders integers, or texts");
    std::ranges::stable_sort(result, [&](const Value& a, const Value& b) {
        return numbers ? a.integer() < b.integer() : a.text() < b.text();
    });
    return Value::of(std::move(result));
}

Value reversed(const FunctionCall& call) {
    const List& list = call.list(0);
    return Value::of(List(list.rbegin(), list.rend()));
}

// range(end), range(begin, end), range(begin, end, step).
Value range(const FunctionCall& call) {
    int64_t bounds[3] = {0, 0, 1};
    for (size_t i = 0; i < call.arguments.size(); ++i)
        bounds[call.arguments.size() == 1 ? 1 : i] = integer_argument(call, i);
    auto [begin, end, step] = bounds;
    if (step == 0) call.refuse_call("symbolic.arguments", "a range with a step of zero");
    __int128 distance = static_cast<__int128>(end) - begin;
    __int128 count = step > 0 ? (distance + step - 1) / step : (-distance - step - 1) / -static_cast<__int128>(step);
    if ((step > 0) != (distance > 0)) count = 0;
    int64_t elements = static_cast<int64_t>(std::min<__int128>(count, largest_static_list + 1));
    call.operations.spend_list(elements, call.place);
    List result;
    result.reserve(static_cast<size_t>(elements));
    for (int64_t i = 0; i < elements; ++i) result.push_back(Value::of(begin + i * step));
    return Value::of(std::move(result));
}

template <int value>
Value repeated(const FunctionCall& call) {
    int64_t count = integer_argument(call, 0);
    if (count < 0) call.refuse_call("symbolic.arguments", fmt::format("a list of {} elements", count));
    call.operations.spend_list(count, call.place);
    return Value::of(List(static_cast<size_t>(count), Value::of(value)));
}

// The inverse of a permutation.
Value inverse(const FunctionCall& call) {
    size_t count = call.list(0).size();
    auto positions = positions_of(call, 0, count);
    List result(count);
    for (size_t i = 0; i < count; ++i) result[positions[i]] = Value::of(static_cast<int64_t>(i));
    return Value::of(std::move(result));
}

// insert(list, positions, values): the positions are those in the result.
Value inserted(const FunctionCall& call) {
    const List& list = call.list(0);
    size_t more = call[1].is_list() ? call[1].list().size() : 1, total = list.size() + more;
    call.operations.spend_list(static_cast<int64_t>(total), call.place);
    auto positions = positions_of(call, 1, total);
    check_values(call, more);
    std::vector<std::optional<Value>> given(total);
    for (size_t i = 0; i < more; ++i) given[positions[i]] = call[2].at(i);
    List result;
    result.reserve(total);
    for (size_t i = 0, next = 0; i < total; ++i) result.push_back(given[i] ? std::move(*given[i]) : list[next++]);
    return Value::of(std::move(result));
}

Value removed(const FunctionCall& call) {
    const List& list = call.list(0);
    std::vector<bool> gone(list.size(), false);
    for (size_t position : positions_of(call, 1, list.size())) gone[position] = true;
    List result;
    for (size_t i = 0; i < gone.size(); ++i)
        if (!gone[i]) result.push_back(list[i]);
    return Value::of(std::move(result));
}

Value replaced(const FunctionCall& call) {
    List result = call.list(0);
    auto positions = positions_of(call, 1, result.size());
    check_values(call, positions.size());
    for (size_t i = 0; i < positions.size(); ++i) result[positions[i]] = call[2].at(i);
    return Value::of(std::move(result));
}

Value concatenated(const FunctionCall& call) {
    List result;
    for (size_t i = 0; i < call.arguments.size(); ++i) {
        const List& list = call.list(i);
        result.insert(result.end(), list.begin(), list.end());
        call.operations.spend_list(static_cast<int64_t>(result.size()), call.place);
    }
    return Value::of(std::move(result));
}

Value broadcast(const FunctionCall& call) {
    std::vector<Size> joint;  // innermost first
    for (size_t i = 0; i < call.arguments.size(); ++i) {
        call.list(i);
        auto sizes = call[i].sizes();
        if (!sizes) call.refuse_call("symbolic.type", "broadcast joins shapes: lists of integers");
        if (sizes->size() > joint.size()) joint.resize(sizes->size(), Size(1));
        for (size_t d = 0; d < sizes->size(); ++d) {
            const Size& own = (*sizes)[sizes->size() - 1 - d];
            auto both = broadcast_sizes(joint[d], own);
            if (!both)
                call.refuse_call("symbolic.broadcast",
                                 fmt::format("the shapes do not broadcast: {} meets {}", joint[d].text(), own.text()));
            joint[d] = *both;
        }
    }
    return Value::of_sizes(std::vector<Size>(joint.rbegin(), joint.rend()));
}

// flatten(coordinates, shape): the row-major number of a point.
Value flattened(const FunctionCall& call) {
    const List &coordinates = call.list(0), &shape = call.list(1);
    if (coordinates.size() != shape.size())
        call.refuse_call("symbolic.length",
                         fmt::format("{} coordinates in {} dimensions", coordinates.size(), shape.size()));
    if (shape.empty()) return Value::of(0);
    Value number = call[0].at(0);
    for (size_t i = 1; i < shape.size(); ++i)
        number = call.binary(ScalarOp::add, call.binary(ScalarOp::multiply, number, call[1].at(i)), call[0].at(i));
    return number;
}

// unflatten(number, shape): the point of a row-major number; an empty dimension counts as one, and the first coordinate
// takes what is left.
Value unflattened(const FunctionCall& call) {
    List result(call.list(1).size());
    Value rest = call[0];
    for (size_t i = result.size(); i-- > 1;) {
        Value extent = call[1].at(i);
        if (call.operations.integer(extent, "an extent", call.place) < 1) extent = Value::of(1);
        result[i] = call.binary(ScalarOp::modulo, rest, extent);
        rest = call.binary(ScalarOp::floor_divide, rest, extent);
    }
    if (!result.empty()) result[0] = rest;
    return Value::of(std::move(result));
}

Value user_error(const FunctionCall& call) {
    call.refuse_call("symbolic.user_error", call[0].is_text() ? call[0].text() : call[0].print());
}

// ---- text

Value split_text(const FunctionCall& call) {
    for (size_t i = 0; i < 2; ++i)
        if (!call[i].is_text()) call.refuse_argument(i, "split_text takes a text and a separator", "a text");
    const std::string &text = call[0].text(), &separator = call[1].text();
    if (separator.empty())
        call.refuse_call("symbolic.arguments", "an empty separator", "chars(text) takes letters apart");
    call.operations.spend_list(static_cast<int64_t>(text.size()), call.place);
    List parts;
    size_t begin = 0;
    for (size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + separator.size())
        parts.push_back(Value::of(text.substr(begin, end - begin)));
    parts.push_back(Value::of(text.substr(begin)));
    return Value::of(std::move(parts));
}

// The letters (code points) of a text; spaces are left out.
Value chars(const FunctionCall& call) {
    if (!call[0].is_text()) call.refuse_argument(0, "chars takes a text apart", "a text");
    const std::string& text = call[0].text();
    call.operations.spend_list(static_cast<int64_t>(text.size()), call.place);
    List letters;
    for (size_t begin = 0; begin < text.size();) {
        size_t end = begin + 1;
        while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
        if (text[begin] != ' ') letters.push_back(Value::of(text.substr(begin, end - begin)));
        begin = end;
    }
    return Value::of(std::move(letters));
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
    FunctionRule{.name = "len", .any = length},
    FunctionRule{.name = "sum", .any = joined<'+'>},
    FunctionRule{.name = "prod", .any = joined<'*'>},
    FunctionRule{.name = "min", .any = joined<'<'>},
    FunctionRule{.name = "max", .any = joined<'>'>},
    FunctionRule{.name = "all", .any = joined<'&'>},
    FunctionRule{.name = "any", .any = joined<'|'>},
    FunctionRule{.name = "abs", .fixed = absolute},
    FunctionRule{.name = "clamp", .any = clamped},
    FunctionRule{.name = "floor", .fixed = rounded<std::floor>},
    FunctionRule{.name = "ceil", .fixed = rounded<std::ceil>},
    FunctionRule{.name = "round", .fixed = rounded<std::nearbyint>},
    FunctionRule{.name = "trunc", .fixed = rounded<std::trunc>},
    FunctionRule{.name = "float", .fixed = real_number, .element = real_element},
    FunctionRule{.name = "ceildiv", .any = divided_up},
    FunctionRule{.name = "where", .any = chosen},
    FunctionRule{.name = "contains", .fixed = contains},
    FunctionRule{.name = "position", .fixed = position},
    FunctionRule{.name = "unique", .fixed = unique},
    FunctionRule{.name = "sort", .fixed = sorted},
    FunctionRule{.name = "reverse", .any = reversed},
    FunctionRule{.name = "range", .fixed = range},
    FunctionRule{.name = "zeros", .fixed = repeated<0>},
    FunctionRule{.name = "ones", .fixed = repeated<1>},
    FunctionRule{.name = "inverse", .fixed = inverse},
    FunctionRule{.name = "insert", .any = inserted},
    FunctionRule{.name = "remove", .any = removed},
    FunctionRule{.name = "replace", .any = replaced},
    FunctionRule{.name = "concat", .any = concatenated},
    FunctionRule{.name = "broadcast", .fixed = broadcast},
    FunctionRule{.name = "flatten", .any = flattened},
    FunctionRule{.name = "unflatten", .any = unflattened},
    FunctionRule{.name = "error", .fixed = user_error},
    FunctionRule{.name = "split_text", .fixed = split_text},
    FunctionRule{.name = "chars", .fixed = chars},
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
    int64_t whole[2] = {};
    double real[2] = {};
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
    const void* operands[2];
    for (size_t i = 0; i < 2; ++i) operands[i] = is_float(dtype) ? static_cast<void*>(real + i) : whole + i;
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
    return Value::of(elements.binary_function(op, a, call.operations.element(call[1], call.place), call.place));
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
            auto rule = std::ranges::find(rules, row.name, &FunctionRule::name);
            if (rule != rules.end()) function.rule = *rule;
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
