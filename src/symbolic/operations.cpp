#include "symbolic/operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "symbolic/projection_range.h"
#include "zspace/size.h"
#include "zspace/checked.h"

namespace heddle {
namespace {

constexpr size_t longest_table = 1'024;  // of a table that is looked up by comparing

std::string_view spelling(ScalarOp op) { return info(op).infix; }

[[noreturn]] void refuse_overflow(ScalarOp op, const Value& a, const Value& b, const Place& place) {
    refuse(static_error("symbolic.overflow", place,
                        fmt::format("{} {} {} does not fit in 64 bits", a.print(), spelling(op), b.print())));
}

[[noreturn]] void refuse_zero(ScalarOp op, const Value& a, const Value& b, const Place& place) {
    refuse(static_error("symbolic.division_by_zero", place,
                        fmt::format("{} {} {} divides by zero", a.print(), spelling(op), b.print())));
}

Value integer_power(const Value& left, const Value& right, const Place& place) {
    int64_t exponent = right.integer();
    if (exponent < 0)
        refuse(static_error("symbolic.type", place,
                            fmt::format("{} ^ {}: an integer has no negative power", left.print(), right.print()),
                            "write a float base"));
    std::optional<Size> result = Size(1), base = left.size();
    while (true) {
        if (exponent & 1) result = checked_multiply(*result, *base);
        exponent >>= 1;
        if (result && exponent == 0) return Value::of(std::move(*result));
        if (result) base = checked_multiply(*base, *base);
        if (!result || !base) refuse_overflow(ScalarOp::power, left, right, place);
    }
}

Value integer_arithmetic(ScalarOp op, const Value& left, const Value& right, const Place& place) {
    const Size &a = left.size(), &b = right.size();
    std::optional<Size> result;
    switch (op) {
    case ScalarOp::power: return integer_power(left, right, place);
    case ScalarOp::add: result = checked_add(a, b); break;
    case ScalarOp::subtract: result = checked_subtract(a, b); break;
    case ScalarOp::multiply: result = checked_multiply(a, b); break;
    default:
        if (b == 0) refuse_zero(op, left, right, place);
        if (op == ScalarOp::divide && b != -1 && floor_modulo(a, b) != 0)
            refuse(static_error("symbolic.inexact_division", place,
                                fmt::format("{} / {} is not an integer", a.number(), b.number()),
                                "write // to round down, or make one of them a float"));
        result = op == ScalarOp::modulo ? checked_floor_modulo(a, b) : checked_floor_divide(a, b);
    }
    if (!result) refuse_overflow(op, left, right, place);
    return Value::of(std::move(*result));
}

// What is made of sizes and stays so; nothing otherwise.
std::optional<Value> sized_arithmetic(ScalarOp op, const Value& left, const Value& right) {
    if (!left.is_of_sizes() && !right.is_of_sizes()) return std::nullopt;
    const auto a = left.as_real().quotient(), b = right.as_real().quotient();
    if (!a || !b) return std::nullopt;
    const FloatSizes floats = float64_sizes();
    std::optional<SizeQuotient> result;
    switch (op) {
    case ScalarOp::add: result = floats.add(*a, *b); break;
    case ScalarOp::subtract: result = floats.subtract(*a, *b); break;
    case ScalarOp::multiply: result = floats.multiply(*a, *b); break;
    case ScalarOp::divide: result = floats.divide(*a, *b); break;
    case ScalarOp::floor_divide:
        if (const auto quotient = floats.divide(*a, *b)) result = floats.converted(quotient->floor());
        break;
    case ScalarOp::minimum: result = floats.minimum(*a, *b); break;
    case ScalarOp::maximum: result = floats.maximum(*a, *b); break;
    default: break;
    }
    return result ? std::optional(Value::of_real(*result)) : std::nullopt;
}

Value real_arithmetic(ScalarOp op, const Value& left, const Value& right, const Place& place) {
    if (auto sized = sized_arithmetic(op, left, right)) return std::move(*sized);
    double a = left.number(), b = right.number();
    switch (op) {
    case ScalarOp::add: return Value::of(a + b);
    case ScalarOp::subtract: return Value::of(a - b);
    case ScalarOp::multiply: return Value::of(a * b);
    case ScalarOp::divide: return Value::of(a / b);
    case ScalarOp::power: return Value::of(std::pow(a, b));
    default: break;
    }
    if (b == 0) refuse_zero(op, left, right, place);
    double quotient = std::floor(a / b);
    if (op == ScalarOp::floor_divide) return Value::of(quotient);
    double remainder = std::fmod(a, b);
    return Value::of(remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder);
}

template <typename T>
bool compare(ScalarOp op, const T& a, const T& b) {
    switch (op) {
    case ScalarOp::less: return a < b;
    case ScalarOp::less_equal: return a <= b;
    case ScalarOp::greater: return a > b;
    default: return a >= b;
    }
}

// Values of different kinds are different, but for an integer and a float, which are numbers.
bool equal_scalars(const Value& left, const Value& right) {
    if (left.is_number() && right.is_number() && left.kind() != right.kind()) return equal_numbers(left, right);
    return left == right;
}

// Of two static values that are no lists.
Value static_binary(ScalarOp op, const Value& left, const Value& right, const Place& place) {
    if (op == ScalarOp::equal || op == ScalarOp::not_equal)
        return Value::of(equal_scalars(left, right) == (op == ScalarOp::equal));
    if (left.is_text() && right.is_text() && op == ScalarOp::add) {
        if (left.text().size() + right.text().size() > largest_static_list)
            refuse(limit_error(place, fmt::format("a text of more than {} letters", largest_static_list)));
        return Value::of(left.text() + right.text());
    }
    for (const Value* side : {&left, &right}) {
        if (!side->is_number())
            refuse(type_error(place, fmt::format("{} needs numbers", spelling(op)), "a number", *side));
    }
    bool integers = left.is_integer() && right.is_integer();
    if (info(op).kind == ScalarClass::comparison) {
        if (integers) return Value::of(compare(op, left.size(), right.size()));
        const auto apart = difference_of_sizes(left, right);
        return Value::of(apart ? compare(op, *apart, Size(0)) : compare(op, left.number(), right.number()));
    }
    return integers ? integer_arithmetic(op, left, right, place) : real_arithmetic(op, left, right, place);
}

Value static_extreme(bool least, const Value& a, const Value& b, const Place& place) {
    for (const Value* side : {&a, &b}) {
        if (!side->is_number())
            refuse(type_error(place, least ? "min needs numbers" : "max needs numbers", "a number", *side));
    }
    if (a.is_integer() && b.is_integer())
        return Value::of(least ? minimum(a.size(), b.size()) : maximum(a.size(), b.size()));
    if (auto sized = sized_arithmetic(least ? ScalarOp::minimum : ScalarOp::maximum, a, b)) return std::move(*sized);
    double x = a.number(), y = b.number();
    if (std::isnan(x) || std::isnan(y)) return Value::of(std::numeric_limits<double>::quiet_NaN());
    return Value::of(least ? std::min(x, y) : std::max(x, y));
}

// The numbers of a constant list that is looked up, as base + step * index; nothing if they are no such progression.
std::optional<std::pair<int64_t, int64_t>> progression(const Value& base) {
    // The numbers of a shape may happen to be a progression now, and each keeps its origin.
    const auto is_named = [](const Value& entry) { return entry.is_integer() && entry.size().named(); };
    if (!base.is_static() || !base.is_list() || std::ranges::any_of(base.list(), is_named)) return std::nullopt;
    auto integers = base.integers();
    if (!integers) return std::nullopt;
    auto step = integers->size() > 1 ? checked_subtract((*integers)[1], (*integers)[0]) : std::optional<int64_t>(0);
    for (size_t i = 1; step && i < integers->size(); ++i)
        if (checked_subtract((*integers)[i], (*integers)[i - 1]) != step) step.reset();
    if (!step) return std::nullopt;
    return std::pair((*integers)[0], *step);
}

}  // namespace

ScalarOp binary_operator(std::string_view spelled) {
    const bool longer = spelled.size() > 1;
    switch (spelled[0]) {
    case '+': return ScalarOp::add;
    case '-': return ScalarOp::subtract;
    case '*': return ScalarOp::multiply;
    case '/': return longer ? ScalarOp::floor_divide : ScalarOp::divide;
    case '%': return ScalarOp::modulo;
    case '^': return ScalarOp::power;
    case '<': return longer ? ScalarOp::less_equal : ScalarOp::less;
    case '>': return longer ? ScalarOp::greater_equal : ScalarOp::greater;
    case '=': return ScalarOp::equal;
    case '!': return ScalarOp::not_equal;
    case '&': return ScalarOp::logical_and;
    default: return ScalarOp::logical_or;
    }
}

std::optional<Size> broadcast_sizes(const Size& a, const Size& b) {
    if (a == b) return a.named() ? a : b;
    if (a == 1) return b;
    if (b == 1) return a;
    return std::nullopt;
}

Operations::Operations(Environment& environment, BodyElements* elements)
    : environment_(environment), budget_(environment.budget()), elements_(elements) {}

Diagnostic Operations::error(std::string code, const Place& place, std::string summary) const {
    return environment_.diagnostic(std::move(code), place, std::move(summary));
}

void Operations::refuse_type(const Place& place, std::string summary, std::string expected, std::string remedy) {
    Diagnostic diagnostic = error("symbolic.type", place, std::move(summary));
    diagnostic.expected = std::move(expected);
    diagnostic.remedy = std::move(remedy);
    throw EvaluationFailure{{std::move(diagnostic)}};
}

void Operations::refuse_lengths(std::string_view what, const Value& a, const Value& b, const Place& place) {
    Diagnostic diagnostic = error(
        "symbolic.length", place,
        fmt::format("{} of lists of different lengths: {} and {} elements", what, a.list().size(), b.list().size()));
    diagnostic.expected = "lists of one length";
    diagnostic.found = fmt::format("{} and {}", a.print(), b.print());
    throw EvaluationFailure{{std::move(diagnostic)}};
}

void Operations::refuse_work(bool small, const Place& place) {
    if (small)
        refuse(limit_error(place,
                           fmt::format("one application takes more than {} steps to evaluate", largest_evaluation)));
    Diagnostic diagnostic = error("symbolic.limit", place, "the body is too large");
    diagnostic.expected = fmt::format("at most {} operations", largest_body);
    diagnostic.remedy = "use a reduction variable instead of a long list";
    throw EvaluationFailure{{std::move(diagnostic)}};
}

void Operations::spend_list(int64_t elements, const Place& place) {
    if (elements > largest_static_list)
        refuse(limit_error(place,
                           fmt::format("a list of {} elements; a list has at most {}", elements, largest_static_list)));
    spend(elements + 1, place);
}

Element Operations::element(const Value& value, const Place& place) {
    if (value.is_element()) {
        if (elements_->nodes().depth(value.element().node) <= deepest_body) return value.element();
        Diagnostic diagnostic = error("symbolic.limit", place, "the body's expressions are too deep together");
        diagnostic.expected = fmt::format("at most {} operations below one another", deepest_body);
        diagnostic.remedy = "reduce over a stacked tensor instead of a list of tensors";
        throw EvaluationFailure{{std::move(diagnostic)}};
    }
    if (value.is_failed()) throw EvaluationFailure{};
    if (!elements_)
        refuse_type(place, fmt::format("{} stands where a static value is needed", value.describe()), "a static value",
                    "a graph computes by operators: add2(x, b) for x + b; or write a body");
    if (value.is_static()) return elements_->literal(value, value.from_template(), place);
    if (value.is_list())
        refuse_type(place, fmt::format("{} stands where one element is needed", value.describe()), "one element",
                    "pick one element, or reduce the list with sum, all, any, min or max");
    refuse_type(place, "an array stands where one element is needed", "one element", "give it coordinates");
}

int64_t Operations::integer(const Value& value, std::string_view what, const Place& place) {
    if (value.is_integer()) return value.integer();
    if (value.is_failed()) throw EvaluationFailure{};
    if (value.is_static()) refuse(type_error(place, fmt::format("{} is an integer", what), "an integer", value));
    refuse_type(place, fmt::format("{} is not a static integer", what), "a static integer", "");
}

const Value::List& Operations::list(const Value& value, const Place& place) {
    if (value.is_failed()) throw EvaluationFailure{};
    if (!value.is_list()) refuse(type_error(place, "a list is needed here", "a list", value));
    spend_list(static_cast<int64_t>(value.list().size()), place);
    return value.list();
}

Value Operations::unary(std::string_view spelled, const Value& operand, const Place& place) {
    const bool negate = spelled == "-";
    return zip({&operand, 1}, spelled, place, [&](Arguments one) {
        const Value& a = one[0];
        if (!a.is_static()) {
            Element own = element(a, place);
            return Value::of(negate ? elements_->negated(own, place) : elements_->inverted(own, place));
        }
        if (!negate) {
            if (!a.is_boolean()) refuse(type_error(place, "! turns a condition round", "a bool", a));
            return Value::of(!a.boolean());
        }
        if (a.is_real() && a.is_of_sizes())
            return real_arithmetic(ScalarOp::multiply, Value::of(-1.0), a, place).with_from_template(a.from_template());
        if (a.is_real()) return Value::of(-a.real()).with_from_template(a.from_template());
        if (!a.is_integer()) refuse(type_error(place, "- needs a number", "a number", a));
        auto negative = checked_subtract(0, a.size());
        if (!negative) refuse_overflow(ScalarOp::subtract, Value::of(0), a, place);
        return Value::of(std::move(*negative)).with_from_template(a.from_template());
    });
}

Value Operations::binary(ScalarOp op, const Value& left, const Value& right, const Place& place) {
    if (op == ScalarOp::logical_and || op == ScalarOp::logical_or)
        return logical(op == ScalarOp::logical_and, left, right, place);
    const bool listed = left.is_list(), both = listed && right.is_list();
    if (both && (op == ScalarOp::equal || op == ScalarOp::not_equal)) {
        size_t count = left.list().size();
        Value same = Value::of(count == right.list().size());
        if (same.boolean()) spend_list(static_cast<int64_t>(count), place);
        for (size_t i = 0; i < count && !(same.is_boolean() && !same.boolean()); ++i)
            same = logical(true, same, binary(ScalarOp::equal, left.at(i), right.at(i), place), place);
        return op == ScalarOp::equal ? same : unary("!", same, place);
    }
    if (listed || right.is_list()) {
        const Value pair[] = {left, right};
        return zip(pair, spelling(op), place, [&](Arguments ith) { return binary(op, ith[0], ith[1], place); });
    }
    if (left.is_static() && right.is_static())
        return static_binary(op, left, right, place).with_from_template(left.from_template() && right.from_template());
    Element a = element(left, place);
    return Value::of(elements_->binary(op, a, element(right, place), place));
}

Value Operations::logical(bool conjunction, const Value& left, const Value& right, const Place& place) {
    for (const Value* side : {&left, &right}) {
        if (side->is_static() ? !side->is_boolean() : side->is_list())
            refuse(type_error(place, conjunction ? "&& joins conditions" : "|| joins conditions", "a bool", *side,
                              "write all(...) or any(...) of a list"));
    }
    for (const Value* side : {&left, &right}) {
        if (!side->is_boolean()) continue;
        return side->boolean() == conjunction ? (side == &left ? right : left) : *side;
    }
    Element a = element(left, place), b = element(right, place);
    return Value::of(conjunction ? elements_->both(a, b, place) : elements_->either(a, b, place));
}

Value Operations::select(const Value& condition, const Value& then, const Value& otherwise, const Place& place) {
    if (condition.is_boolean()) return condition.boolean() ? then : otherwise;
    Element chosen = element(condition, place);
    const Value pair[] = {then, otherwise};
    return zip(pair, "?:", place, [&](Arguments two) {
        Element a = element(two[0], place);
        return Value::of(elements_->select(chosen, a, element(two[1], place), place));
    });
}

Value Operations::cast(const Value& value, DType dtype, const Place& place) {
    return zip({&value, 1}, "cast", place,
               [&](Arguments one) { return Value::of(elements_->cast(element(one[0], place), dtype, place)); });
}

Value Operations::extreme(bool least, const Value& a, const Value& b, const Place& place) {
    const Value both[] = {a, b};
    return zip(both, least ? "min" : "max", place, [&](Arguments pair) {
        if (pair[0].is_static() && pair[1].is_static())
            return static_extreme(least, pair[0], pair[1], place)
                .with_from_template(pair[0].from_template() && pair[1].from_template());
        Element first = element(pair[0], place);
        return Value::of(elements_->binary_function(least ? ScalarOp::minimum : ScalarOp::maximum, first,
                                                    element(pair[1], place), place));
    });
}

Value Operations::pick(const Value& base, const Value& index, const Place& place) {
    if (base.is_failed() || index.is_failed()) throw EvaluationFailure{};
    if (!base.is_list() && !base.is_text()) refuse(type_error(place, "only a list has elements", "a list", base));
    if (index.is_list())
        return zip({&index, 1}, "a pick", place, [&](Arguments one) { return pick(base, one[0], place); });
    if (index.is_element() && base.is_list()) return table(base, index, place);
    if (!index.is_integer())
        refuse(type_error(place, "an element is chosen by an integer or a list of integers", "an integer", index));
    auto count = static_cast<int64_t>(base.is_list() ? base.list().size() : base.text().size());
    int64_t position = index.integer() < 0 ? index.integer() + count : index.integer();
    if (position < 0 || position >= count) {
        Diagnostic diagnostic =
            error("symbolic.range", place, fmt::format("element {} of {}", index.integer(), base.describe()));
        diagnostic.expected = fmt::format("a position in {} .. {}", -count, count - 1);
        diagnostic.found = std::to_string(index.integer());
        throw EvaluationFailure{{std::move(diagnostic)}};
    }
    auto at = static_cast<size_t>(position);
    if (base.is_text()) return Value::of(std::string(1, base.text()[at]));
    Value picked = base.at(at);
    bool marked = picked.from_template() && index.from_template();
    return std::move(picked).with_from_template(marked);
}

// A constant list and a variable: an affine form of it where the list is a progression, else a chain of selections.
Value Operations::table(const Value& base, const Value& index, const Place& place) {
    const Value::List& entries = list(base, place);
    auto refuse_table = [&](std::string found) {
        Diagnostic diagnostic = error("symbolic.table", place, "this list cannot be looked up by a variable");
        diagnostic.expected = fmt::format("a list of 1 to {} numbers", longest_table);
        diagnostic.found = std::move(found);
        const bool nested = !entries.empty() && entries[0].is_list();
        diagnostic.remedy = nested ? fmt::format("write the list flat, one row after the other, and look up {} * i + j",
                                                 entries[0].list().size())
                                   : "pass the table as an input tensor";
        if (nested) diagnostic.expected += ", no lists among them";
        throw EvaluationFailure{{std::move(diagnostic)}};
    };
    const Body& body = elements_->nodes().body();
    const bool nowhere = std::ranges::any_of(variables_of(body, index.element().node), [&](VariableId id) {
        return body.variable(id).extent <= 0;
    });
    if (entries.empty() && nowhere) return Value::of(elements_->weak_integer(0, true));  // no step asks for it
    if (entries.empty() || entries.size() > longest_table) refuse_table(fmt::format("{} elements", entries.size()));
    for (const Value& entry : entries)
        if (!entry.is_element() && !entry.is_number()) refuse_table(base.describe());
    const auto length = static_cast<int64_t>(entries.size());
    const Value inside = Value::of(elements_->position_in_list(index.element(), length, place));
    if (auto line = progression(base)) {
        Value step = Value::of(line->second).with_from_template(base.from_template());
        Value start = Value::of(line->first).with_from_template(base.from_template());
        return binary(ScalarOp::add, binary(ScalarOp::multiply, inside, step, place), start, place);
    }
    Value result = Value::of(element(base.at(entries.size() - 1), place));
    for (size_t i = entries.size() - 1; i-- > 0;) {
        Value here = binary(ScalarOp::equal, inside, Value::of(static_cast<int64_t>(i)), place);
        result = select(here, base.at(i), result, place);
    }
    return result;
}

Value Operations::slice(const Value& base, const Value& from, const Value& to, const Place& place) {
    if (base.is_failed() || from.is_failed() || to.is_failed()) throw EvaluationFailure{};
    if (!base.is_list() && !base.is_text()) refuse(type_error(place, "only a list has slices", "a list", base));
    auto count = static_cast<int64_t>(base.is_list() ? base.list().size() : base.text().size());
    auto bound = [&](const Value& given, int64_t otherwise) {
        if (given.is_none()) return otherwise;
        int64_t position = integer(given, "the bound of a slice", place);
        return std::clamp<int64_t>(position < 0 ? position + count : position, 0, count);
    };
    int64_t first = bound(from, 0), length = std::max<int64_t>(0, bound(to, count) - first);
    spend_list(length, place);
    if (base.is_text()) return Value::of(base.text().substr(static_cast<size_t>(first), static_cast<size_t>(length)));
    auto begin = base.list().begin() + first;
    Value part = Value::of(Value::List(begin, begin + length));
    bool marked = part.from_template() && base.from_template();
    return std::move(part).with_from_template(marked);
}

Value Operations::joined(std::string_view name, Arguments terms, const Place& place) {
    const bool least = name == "min", extremes = least || name == "max";
    spend_list(static_cast<int64_t>(terms.size()), place);
    if (extremes && terms.empty())
        refuse(static_error("symbolic.arguments", place, fmt::format("{} of an empty list", name)));
    const ScalarOp op = name == "sum"    ? ScalarOp::add
                        : name == "prod" ? ScalarOp::multiply
                        : name == "all"  ? ScalarOp::logical_and
                                         : ScalarOp::logical_or;
    // Static terms join what no terms are, which says what they must be; an element is not changed by adding zero.
    const bool conditions = op == ScalarOp::logical_and || op == ScalarOp::logical_or;
    Value result = conditions ? Value::of(op == ScalarOp::logical_and) : Value::of(op == ScalarOp::multiply ? 1 : 0);
    bool begun = !extremes && (conditions || terms.empty() || terms[0].is_static());
    for (const Value& term : terms) {
        if (!begun)
            result = extremes && term.is_static() ? extreme(least, term, term, place) : term;
        else
            result = extremes ? extreme(least, result, term, place) : binary(op, result, term, place);
        begun = true;
    }
    return result;
}

}  // namespace heddle
