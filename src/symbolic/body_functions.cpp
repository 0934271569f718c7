// The functions of bodies on values that are not all static; static ones are static_function's.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "language/functions.h"
#include "symbolic/body_values.h"

namespace heddle {

using ValueKind = BodyValue::Kind;

void BodyValues::need_arguments(std::string_view name, size_t given, size_t least, size_t most, const Place& place) {
    if (given >= least && given <= most) return;
    Diagnostic diagnostic =
        elements_.error("symbolic.arguments", place,
                        fmt::format("{} takes {} argument{}, {} given", name,
                                    least == most ? std::to_string(least) : fmt::format("{} to {}", least, most),
                                    most == 1 ? "" : "s", given));
    elements_.refuse(std::move(diagnostic));
}

// Static positions of a list argument, or one position: each in 0 .. count - 1, negative ones counted from the end.
std::vector<int64_t> BodyValues::positions(const BodyValue& value, int64_t count, const Place& place) {
    std::vector<BodyValue> list = value.is_list() ? items(value, place) : std::vector<BodyValue>{value};
    std::vector<int64_t> result;
    for (const BodyValue& item : list) {
        int64_t position = static_integer(item, "a position", place);
        if (position < -count || position >= count) {
            Diagnostic diagnostic =
                elements_.error("symbolic.range", place, fmt::format("position {} in a list of {}", position, count));
            elements_.refuse(std::move(diagnostic));
        }
        result.push_back(position < 0 ? position + count : position);
    }
    return result;
}

BodyValue BodyValues::insertion(const std::vector<BodyValue>& arguments, const Place& place) {
    std::vector<BodyValue> list = items(arguments[0], place);
    size_t added = arguments[1].is_list() ? arguments[1].size() : 1;
    std::vector<int64_t> where = positions(arguments[1], static_cast<int64_t>(list.size() + added), place);
    bool many = arguments[2].is_list();
    if (many && arguments[2].size() != where.size())
        refuse_type(place, fmt::format("insert: {} positions and {} values", where.size(), arguments[2].size()),
                    "as many values as positions", "");
    std::map<int64_t, BodyValue> values;
    for (size_t i = 0; i < where.size(); ++i)
        values.insert_or_assign(where[i], many ? arguments[2].at(i) : arguments[2]);
    if (values.size() != where.size())
        refuse_type(place, "insert: a position is repeated", "positions that differ", "");
    std::vector<BodyValue> result;
    size_t next = 0;
    for (size_t i = 0; i < list.size() + where.size(); ++i) {
        auto found = values.find(static_cast<int64_t>(i));
        result.push_back(found != values.end() ? found->second : list[next++]);
    }
    return list_of(std::move(result));
}

BodyValue BodyValues::removal(const std::vector<BodyValue>& arguments, const Place& place) {
    std::vector<BodyValue> list = items(arguments[0], place);
    std::vector<int64_t> where = positions(arguments[1], static_cast<int64_t>(list.size()), place);
    std::vector<BodyValue> result;
    for (size_t i = 0; i < list.size(); ++i)
        if (std::find(where.begin(), where.end(), static_cast<int64_t>(i)) == where.end()) result.push_back(list[i]);
    return list_of(std::move(result));
}

BodyValue BodyValues::replacement(const std::vector<BodyValue>& arguments, const Place& place) {
    std::vector<BodyValue> list = items(arguments[0], place);
    std::vector<int64_t> where = positions(arguments[1], static_cast<int64_t>(list.size()), place);
    bool many = arguments[2].is_list();
    if (many && arguments[2].size() != where.size())
        refuse_type(place, fmt::format("replace: {} positions and {} values", where.size(), arguments[2].size()),
                    "as many values as positions", "");
    for (size_t i = 0; i < where.size(); ++i)
        list[static_cast<size_t>(where[i])] = many ? arguments[2].at(i) : arguments[2];
    return list_of(std::move(list));
}

// The row-major number of coordinates in a shape.
BodyValue BodyValues::flattened(const std::vector<BodyValue>& arguments, const Place& place) {
    std::vector<BodyValue> coordinates = items(arguments[0], place), shape = items(arguments[1], place);
    if (coordinates.size() != shape.size())
        refuse_type(place, fmt::format("flatten: {} coordinates in a shape of {}", coordinates.size(), shape.size()),
                    "one coordinate a dimension", "");
    BodyValue number = BodyValue::of(StaticValue::of(0), true);
    for (size_t i = 0; i < shape.size(); ++i) {
        number = i == 0 ? coordinates[0] : binary("+", binary("*", number, shape[i], place), coordinates[i], place);
    }
    return number;
}

// The coordinates of a row-major number; the first one takes what is left.
BodyValue BodyValues::unflattened(const std::vector<BodyValue>& arguments, const Place& place) {
    std::vector<BodyValue> shape = items(arguments[1], place);
    std::vector<BodyValue> result(shape.size());
    BodyValue rest = arguments[0];
    for (size_t i = shape.size(); i-- > 1;) {
        int64_t extent = static_integer(shape[i], "an extent", place);
        BodyValue divisor = extent < 1 ? BodyValue::of(StaticValue::of(1), true) : shape[i];
        result[i] = binary("%", rest, divisor, place);
        rest = binary("//", rest, divisor, place);
    }
    if (!shape.empty()) result[0] = rest;
    return list_of(std::move(result));
}

std::optional<BodyValue> BodyValues::list_function(std::string_view name, const std::vector<BodyValue>& arguments,
                                                   const Place& place) {
    auto need = [&](size_t count) { need_arguments(name, arguments.size(), count, count, place); };
    if (name == "len") {
        need(1);
        return BodyValue::of(StaticValue::of(static_cast<int64_t>(items(arguments[0], place).size())), false);
    }
    if (name == "insert") return need(3), insertion(arguments, place);
    if (name == "remove") return need(2), removal(arguments, place);
    if (name == "replace") return need(3), replacement(arguments, place);
    if (name == "flatten") return need(2), flattened(arguments, place);
    if (name == "unflatten") return need(2), unflattened(arguments, place);
    if (name == "concat") {
        std::vector<BodyValue> result;
        for (const BodyValue& argument : arguments)
            for (BodyValue& item : items(argument, place)) result.push_back(std::move(item));
        return list_of(std::move(result));
    }
    if (name == "reverse") {
        need(1);
        std::vector<BodyValue> result = items(arguments[0], place);
        std::reverse(result.begin(), result.end());
        return list_of(std::move(result));
    }
    return std::nullopt;
}

std::optional<BodyValue> BodyValues::element_function(std::string_view name, const std::vector<BodyValue>& arguments,
                                                      const Place& place) {
    if (name == "clamp") {
        need_arguments(name, arguments.size(), 3, 3, place);
        return least_or_greatest(true, least_or_greatest(false, arguments[0], arguments[1], place), arguments[2],
                                 place);
    }
    if (name == "where") {
        need_arguments(name, arguments.size(), 3, 3, place);
        return zip(arguments, name, place,
                   [&](const std::vector<BodyValue>& three) { return select(three[0], three[1], three[2], place); });
    }
    if (name == "ceildiv") {
        need_arguments(name, arguments.size(), 2, 2, place);
        return unary("-", binary("//", unary("-", arguments[0], place), arguments[1], place), place);
    }
    if (name == "cast") {
        need_arguments(name, arguments.size(), 2, 2, place);
        if (!arguments[1].is_fixed() || !arguments[1].value.is_dtype())
            refuse_type(place, "the second argument of cast is a dtype", "a dtype",
                        "write $dtype, or a name such as float32");
        return cast(arguments[0], arguments[1].value.dtype(), place);
    }
    if (auto dtype = dtype_named(name)) {
        need_arguments(name, arguments.size(), 1, 1, place);
        return cast(arguments[0], *dtype, place);
    }
    if (name == "float") {
        need_arguments(name, arguments.size(), 1, 1, place);
        return each(arguments[0], place, [&](const BodyValue& item) {
            Element a = element(item, place);
            if (a.weak == Element::Weak::no)
                refuse_type(place, "float() is for static values and coordinates", "a static value or a coordinate",
                            "write a dtype, as in float32(...)");
            return binary("+", BodyValue::of(a), BodyValue::of(StaticValue::of(0.0), true), place);
        });
    }
    static const std::map<std::string_view, std::string_view> aliases = {{"isnan", "is_nan"}, {"isinf", "is_inf"}};
    auto alias = aliases.find(name);
    auto op = scalar_op_named(alias == aliases.end() ? name : alias->second);
    if (!op || !info(*op).infix.empty()) return std::nullopt;
    auto count = static_cast<size_t>(info(*op).operands);
    need_arguments(name, arguments.size(), count, count, place);
    return zip(arguments, name, place, [&](const std::vector<BodyValue>& scalars) {
        Element a = element(scalars[0], place);
        if (count == 1) return BodyValue::of(elements_.unary_function(*op, a, place));
        Element b = element(scalars[1], place);
        return BodyValue::of(*op == ScalarOp::complex ? elements_.complex(a, b, place)
                                                      : elements_.binary_function(*op, a, b, place));
    });
}

BodyValue BodyValues::function(std::string_view name, const std::vector<BodyValue>& arguments, const Place& place) {
    bool fixed = true, from_template = true;
    for (const BodyValue& argument : arguments) {
        if (argument.kind == ValueKind::failed) throw BodyFailure{};
        fixed = fixed && argument.is_fixed();
        from_template = from_template && argument.from_template;
    }
    if (fixed && is_static_function(name)) {
        StaticValue::List values;
        values.reserve(arguments.size());
        for (const BodyValue& argument : arguments) values.push_back(argument.value);
        return unwrapped(static_function(name, values, place, budget_), from_template);
    }
    if (name == "sum" || name == "prod" || name == "all" || name == "any" || name == "min" || name == "max") {
        bool one_list = arguments.size() == 1 && arguments[0].is_list();
        return combined(name, one_list ? items(arguments[0], place) : arguments, place);
    }
    if (auto value = list_function(name, arguments, place)) return *value;
    if (auto value = element_function(name, arguments, place)) return *value;
    if (is_static_function(name))
        refuse_type(place, fmt::format("{} works on static values only", name), "static arguments", "");
    Diagnostic diagnostic =
        elements_.error("symbolic.unknown_function", place, fmt::format("unknown function '{}'", name));
    std::vector<std::string> known = {"sum",    "prod",    "min",     "max",       "all",    "any",
                                      "clamp",  "where",   "cast",    "insert",    "remove", "replace",
                                      "concat", "reverse", "flatten", "unflatten", "len",    "ceildiv"};
    for (ScalarOp op = ScalarOp::add;; op = static_cast<ScalarOp>(static_cast<int>(op) + 1)) {
        known.emplace_back(info(op).name);
        if (op == ScalarOp::conjugate) break;
    }
    if (std::string nearest = nearest_name(std::string(name), known); !nearest.empty())
        diagnostic.remedy = fmt::format("did you mean {}?", nearest);
    elements_.refuse(std::move(diagnostic));
}

}  // namespace heddle
