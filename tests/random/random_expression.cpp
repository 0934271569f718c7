#include "random/random_expression.h"

#include <array>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::random {

Extent ExpressionWriter::size_of(int64_t value) {
    for (const Extent& known : sizes_) {
        if (known.value == value && !choices_.once_in(5)) return known;
    }
    sizes_.push_back({fmt::format("$s{}", sizes_.size()), value});
    return sizes_.back();
}

std::string ExpressionWriter::fresh(const char* letter) { return fmt::format("{}{}", letter, names_++); }

Extent ExpressionWriter::extent(int64_t limit) {
    Extent made{"2", 2};
    switch (sizes_.empty() ? 2 : choices_.weighted({10, 2, 2})) {
    case 0: made = choices_.one_of(sizes_); break;
    case 1: {
        const Extent& size = choices_.one_of(sizes_);
        const int64_t more = 1 + choices_.below(3);
        if (choices_.once_in(2)) {
            made = {fmt::format("(2 * {})", size.text), 2 * size.value};
        } else {
            made = {fmt::format("({} + {})", size.text, more), size.value + more};
        }
        break;
    }
    default: {
        const int64_t value = std::array<int64_t, 5>{2, 3, 1, 5, 9}[static_cast<size_t>(choices_.below(5))];
        made = {std::to_string(value), value};
    }
    }
    if (scope_.points * std::max<int64_t>(made.value, 1) > limit) return {"1", 1};
    return made;
}

std::vector<Variable> ExpressionWriter::fitting(int64_t extent, bool same) {
    std::vector<Variable> list;
    for (const Variable& variable : scope_.variables) {
        if (same ? variable.extent.value == extent : variable.extent.value <= extent) list.push_back(variable);
    }
    return list;
}

Text ExpressionWriter::coordinate(const Extent& extent, int depth) {
    const std::vector<Variable> same = fitting(extent.value, true), any = fitting(extent.value, false);
    if (extent.value == 0) return same.empty() ? Text() : Text(choices_.one_of(same).name);
    const std::string last = fmt::format("{} - 1", extent.text);
    switch (choices_.weighted({12, 2, 1, 1, 1, 1, 1, 2, 1, 3})) {
    case 0: break;
    case 9: return same.empty() ? std::to_string(0) : beyond_border(choices_.one_of(same));
    case 1:
        if (any.empty()) break;
        return fmt::format("{} - {}", last, choices_.one_of(any).name);
    case 2: return std::to_string(choices_.below(std::min<int64_t>(extent.value, 4)));
    case 3: return fmt::format("clamp({}, 0, {})", integer(depth - 1), last);
    case 4: return fmt::format("({}) % {}", integer(depth - 1), extent.text);
    case 5: {
        if (scope_.variables.empty()) break;
        const Variable variable = choices_.one_of(scope_.variables);
        const int64_t divisor = 2 + choices_.below(3);
        if ((variable.extent.value + divisor - 1) / divisor > extent.value) break;
        return fmt::format("{} // {}", variable.name, divisor);
    }
    case 6: {
        if (any.empty()) break;
        const Variable a = choices_.one_of(any), b = choices_.one_of(any);
        const int64_t factor = 1 + choices_.below(3);
        const int64_t most = factor * (a.extent.value - 1) + b.extent.value - 1;
        if (a.name == b.name || a.extent.value == 0 || b.extent.value == 0 || most >= extent.value) break;
        return fmt::format("{} * {} + {}", factor, a.name, b.name);
    }
    case 7:
        if (Text found = indirect(extent, depth)) return found;
        break;
    default: return argument(extent, depth - 1);
    }
    if (!same.empty() && !choices_.once_in(6)) return choices_.one_of(same).name;
    if (!any.empty()) return choices_.one_of(any).name;
    return std::to_string(choices_.below(std::min<int64_t>(extent.value, 4)));
}

// The variable moved a little, and what would leave the extent wrapped, clamped or mirrored; or taken apart.
std::string ExpressionWriter::beyond_border(const Variable& variable) {
    const std::string &v = variable.name, &n = variable.extent.text;
    const int64_t by = choices_.below(4);
    switch (choices_.below(9)) {
    case 0: return fmt::format("({} + {}) % {}", v, by, n);
    case 1: return fmt::format("({} + {} - {}) % {}", v, n, by, n);
    case 2: return fmt::format("min({} + {}, {} - 1)", v, by, n);
    case 3: return fmt::format("max({} - {}, 0)", v, by);
    case 4: return fmt::format("clamp({} + {}, 0, {} - 1)", v, by - 2, n);
    case 5: return fmt::format("clamp(abs({} - {}), 0, {} - 1)", v, by, n);
    case 6: return fmt::format("clamp(min({} + {}, 2 * {} - 2 - {}), 0, {} - 1)", v, by, n, v, n);
    case 7: return fmt::format("{} // {}", v, 2 + by);
    default: return fmt::format("{} - {} % {}", v, v, 2 + by);
    }
}

Text ExpressionWriter::indirect(const Extent& extent, int depth) {
    std::vector<Array> indices;
    for (const Array& array : scope_.arrays) {
        if (array.integer && array.limit > 0 && array.limit <= extent.value) indices.push_back(array);
    }
    return indices.empty() || depth < 0 ? Text() : read(choices_.one_of(indices), depth - 1);
}

Text ExpressionWriter::read(const Array& array, int depth) {
    std::vector<std::string> at = array.given;
    for (const Extent& extent : array.shape) {
        const Text one = coordinate(extent, depth);
        if (!one) return {};
        at.push_back(*one);
    }
    return fmt::format("{}[{}]", array.name, fmt::join(at, ", "));
}

Text ExpressionWriter::read_any(bool integer, int depth) {
    std::vector<Array> fitting;
    for (const Array& array : scope_.arrays) {
        if (array.integer == integer) fitting.push_back(array);
    }
    for (int tries = 0; tries < 3 && !fitting.empty(); tries++) {
        // What was made last is what tells most.
        const auto back = static_cast<size_t>(choices_.below(static_cast<int64_t>(fitting.size())));
        if (Text found = read(fitting[fitting.size() - 1 - back], depth)) return found;
    }
    return {};
}

std::string ExpressionWriter::number() {
    return choices_.one_of(std::vector<std::string>{"1", "0", "2", "0.5", "-1", "-0.25", "3"});
}

std::string ExpressionWriter::leaf() {
    if (!scope_.scalars.empty() && choices_.once_in(3)) return choices_.one_of(scope_.scalars);
    if (Text found = read_any(false, 1)) return *found;
    if (!scope_.scalars.empty()) return choices_.one_of(scope_.scalars);
    return fmt::format("cast({}, $T)", scope_.variables.empty() ? "1" : choices_.one_of(scope_.variables).name);
}

std::string ExpressionWriter::real(int depth) {
    if (depth <= 0 || --nodes_ < 0) return leaf();
    switch (choices_.weighted({5, 6, 3, 6, 2, 2, 2, 1, 1, 1})) {
    case 0: return leaf();
    case 1: return binary(depth);
    case 2: return unary(depth);
    case 3: return reduction(depth);
    case 4: return fmt::format("({} ? {} : {})", truth(depth - 1), real(depth - 1), operand(depth - 1));
    case 5: return guarded(depth);
    case 6: return window();
    case 7: return fmt::format("cast({}, $T)", integer(depth - 1));
    case 8: return fmt::format("{} / (1 + abs({}))", leaf(), real(depth - 1));
    default: return list(depth);
    }
}

std::string ExpressionWriter::operand(int depth) { return choices_.once_in(4) ? number() : real(depth); }

std::string ExpressionWriter::binary(int depth) {
    const std::string a = real(depth - 1), b = operand(depth - 1);
    switch (choices_.below(5)) {
    case 0: return fmt::format("({} + {})", a, b);
    case 1: return fmt::format("{} * {}", a, b);
    case 2: return fmt::format("({} - {})", a, b);
    case 3: return fmt::format("max({}, {})", a, b);
    default: return fmt::format("min({}, {})", a, b);
    }
}

std::string ExpressionWriter::unary(int depth) {
    const std::string a = real(depth - 1);
    switch (choices_.below(12)) {
    case 11: return fmt::format("lgamma({})", a);
    case 8: return fmt::format("erfc({})", a);
    case 9: return fmt::format("hypot({}, {})", a, operand(depth - 1));
    case 10: return fmt::format("copysign({}, {})", a, number());
    case 0: return fmt::format("(-{})", a);
    case 1: return fmt::format("tanh({})", a);
    case 2: return fmt::format("abs({})", a);
    case 3: return fmt::format("exp(min({}, 2))", a);
    case 4: return fmt::format("sigmoid({})", a);
    case 5: return fmt::format("floor({})", a);
    case 6: return fmt::format("sqrt(abs({}))", a);
    default: return fmt::format("log(1 + abs({}))", a);
    }
}

std::string ExpressionWriter::over(const std::function<void()>& inside) {
    const Scope outside = scope_;
    std::string text;
    if (choices_.once_in(8)) {
        const std::string name = fresh("k");
        scope_.add({name + "[0]", {"2", 2}});
        scope_.add({name + "[1]", {"3", 3}});
        text = name + " < [2, 3]";
    } else {
        for (int64_t count = choices_.once_in(4) ? 2 : 1; count > 0; count--) {
            const Variable variable{fresh("k"), extent(most_work)};
            scope_.add(variable);
            text += fmt::format("{}{} < {}", text.empty() ? "" : ", ", variable.name, variable.extent.text);
        }
    }
    inside();
    scope_ = outside;
    return text;
}

std::string ExpressionWriter::reduction(int depth) {
    static const std::vector<std::string> reducers = {"sum", "sum", "sum", "max", "min", "mean", "prod"};
    const std::string reducer = choices_.one_of(reducers);
    std::string filter, value;
    // A part of the last variable's range, which the variables before may decide.
    auto limit = [&] {
        const Text data = indirect({"", INT64_MAX}, 0);
        return data ? *data : std::to_string(choices_.below(6) - 1);
    };
    const bool takes_part = reducer != "mean" && choices_.once_in(4);
    const std::string first = takes_part && choices_.once_in(2) ? " from " + limit() : "";
    const std::string part = takes_part ? first + " to " + limit() : first;
    std::string variables = over([&] {
        if (reducer != "mean" && choices_.once_in(4)) filter = fmt::format(" if {}", truth(depth - 1));
        value = reducer == "sum" && choices_.once_in(2) ? fmt::format("{} * {}", leaf(), leaf()) : real(depth - 1);
    });
    if (!variables.ends_with("]")) variables += part;
    return fmt::format("{}({}{} : {})", reducer, variables, filter, value);
}

std::string ExpressionWriter::argument(const Extent& extent, int depth) {
    const Scope outside = scope_;
    const Variable variable{fresh("k"), extent};
    scope_.add(variable);
    const std::string value = scope_.points > most_work ? leaf() : real(std::min(depth, 2));
    scope_ = outside;
    return fmt::format("{}({} < {} : {})", choices_.once_in(3) ? "argmin" : "argmax", variable.name, extent.text,
                       value);
}

std::string ExpressionWriter::guarded(int depth) {
    std::vector<Array> tensors;
    for (const Array& array : scope_.arrays) {
        if (array.tensor && !array.integer && !array.shape.empty()) tensors.push_back(array);
    }
    if (tensors.empty() || scope_.variables.empty()) return leaf();
    const Array& array = choices_.one_of(tensors);
    const auto moved = static_cast<size_t>(choices_.below(static_cast<int64_t>(array.shape.size())));
    const Variable variable = choices_.one_of(scope_.variables);
    const int64_t by = choices_.below(5) - 2;
    const bool indices = choices_.once_in(3);
    std::vector<std::string> at;
    for (size_t d = 0; d < array.shape.size(); d++) {
        Text one = d == moved ? Text(fmt::format("{} {} {}", variable.name, by < 0 ? "-" : "+", std::abs(by)))
                              : coordinate(array.shape[d], 0);
        if (Text found = indices ? indirect({"", INT64_MAX}, 0) : Text()) one = found;
        if (!one) one = variable.name;
        at.push_back(*one);
    }
    const std::string text = fmt::format("{}[{}]", array.name, fmt::join(at, ", "));
    const bool inside = variable.extent.value <= array.shape[moved].value;
    if (indices || !inside || choices_.once_in(2)) return fmt::format("({} ?? {})", text, number());
    for (size_t d = 0; d < array.shape.size(); d++) {
        if (d != moved && array.shape[d].value == 0) return fmt::format("({} ?? {})", text, number());
    }
    const std::string condition = by < 0 ? fmt::format("{} >= {}", variable.name, -by)
                                         : fmt::format("{} + {} < {}", variable.name, by, array.shape[moved].text);
    return fmt::format("({} ? {} : {})", condition, text, operand(depth - 1));
}

std::string ExpressionWriter::window() {
    std::vector<Array> tensors;
    for (const Array& array : scope_.arrays) {
        if (array.tensor && !array.integer && !array.shape.empty()) tensors.push_back(array);
    }
    if (tensors.empty() || scope_.variables.empty() || scope_.points * 3 > most_work) return leaf();
    const Array& array = choices_.one_of(tensors);
    const auto moved = static_cast<size_t>(choices_.below(static_cast<int64_t>(array.shape.size())));
    const Variable variable = choices_.one_of(scope_.variables);
    const std::string neighbour = fresh("a");
    // Neighbours side by side, or those of a list; weighted by a list, or by one for each phase.
    const std::string place = choices_.once_in(3) ? fmt::format("{} - [1, -1, 0][{}]", variable.name, neighbour)
                                                  : fmt::format("{} + {} - 1", variable.name, neighbour);
    const std::string weight =
        choices_.once_in(3)   ? fmt::format("[0.25, -1, 1.5][{}] * ", neighbour)
        : choices_.once_in(3) ? fmt::format("[1, 0.5, -2, 0.75, 1, 3][3 * ({} % 2) + {}] * ", variable.name, neighbour)
                              : "";
    const bool bounded = variable.extent.value == array.shape[moved].value && choices_.once_in(2);
    const std::string &n = array.shape[moved].text, end = n + " - 1";
    const std::string inside =
        choices_.once_in(2) ? fmt::format("clamp({}, 0, {})", place, end) : fmt::format("({} + {}) % {}", place, n, n);
    std::vector<std::string> at;
    for (size_t d = 0; d < array.shape.size(); d++) {
        const Text one = d == moved ? Text(bounded ? inside : place) : coordinate(array.shape[d], 0);
        if (!one) return leaf();
        at.push_back(*one);
    }
    const std::string read = fmt::format("{}{}[{}]", weight, array.name, fmt::join(at, ", "));
    if (bounded) return fmt::format("{}({} < 3 : {})", choices_.once_in(2) ? "max" : "sum", neighbour, read);
    if (choices_.once_in(2) && weight.empty())
        return fmt::format("{}({} < 3 : {} ?? 0)", choices_.once_in(2) ? "max" : "sum", neighbour, read);
    return fmt::format("{}({} < 3 if {} >= 0 && {} < {} : {})", choices_.once_in(2) ? "max" : "sum", neighbour, place,
                       place, array.shape[moved].text, read);
}

std::string ExpressionWriter::list(int depth) {
    const std::string name = fresh("d");
    const Scope outside = scope_;
    scope_.add({name, {"2", 2}});
    const std::string each = real(depth - 1);
    scope_ = outside;
    return fmt::format("{}([{} for {} < 2])", choices_.once_in(2) ? "max" : "sum", each, name);
}

std::string ExpressionWriter::integer(int depth) {
    if (depth <= 0 || --nodes_ < 0) {
        if (choices_.once_in(2)) {
            if (Text found = read_any(true, 0)) return *found;
        }
        return scope_.variables.empty() ? std::to_string(choices_.below(4)) : choices_.one_of(scope_.variables).name;
    }
    const std::string a = integer(depth - 1);
    switch (choices_.below(6)) {
    case 0: return fmt::format("({} + {})", a, choices_.below(4));
    case 1: return fmt::format("({} - {})", a, integer(depth - 1));
    case 2: return fmt::format("{} * {}", 1 + choices_.below(3), a);
    case 3: return fmt::format("({}) // {}", a, 1 + choices_.below(4));
    case 4: return fmt::format("max({}, {})", a, choices_.below(3));
    default: {
        std::string filter;
        const std::string variables = over([&] { filter = truth(depth - 1); });
        return fmt::format("count({} if {} : true)", variables, filter);
    }
    }
}

// Where a variable stands: at an end, near it, in a phase.
std::string ExpressionWriter::place() {
    const Variable variable = choices_.one_of(scope_.variables);
    const std::string &v = variable.name, &n = variable.extent.text;
    switch (choices_.below(6)) {
    case 0: return fmt::format("{} == {}", v, choices_.below(3));
    case 1: return fmt::format("{} == {} - 1", v, n);
    case 2: return fmt::format("{} < {} - {}", v, n, choices_.below(4));
    case 3: return fmt::format("({} > {} && {} < {} - 2)", v, choices_.below(3), v, n);
    case 4: return fmt::format("{} % {} == {}", v, 2 + choices_.below(2), choices_.below(2));
    default: return fmt::format("2 * {} < {}", v, n);
    }
}

std::string ExpressionWriter::truth(int depth) {
    static const std::vector<std::string> orders = {"<", "<=", ">", ">=", "==", "!="};
    if (!scope_.variables.empty() && choices_.once_in(4)) return place();
    switch (depth <= 0 ? choices_.below(2) : choices_.below(5)) {
    case 0: return fmt::format("{} {} {}", leaf(), choices_.one_of(orders), number());
    case 1: return fmt::format("{} {} {}", integer(0), choices_.one_of(orders), choices_.below(3));
    case 2: return fmt::format("{} {} {}", real(depth - 1), choices_.one_of(orders), real(depth - 1));
    case 3: return fmt::format("({} {} {})", truth(depth - 1), choices_.once_in(2) ? "&&" : "||", truth(depth - 1));
    default: {
        std::string inside;
        const std::string variables = over([&] { inside = truth(depth - 1); });
        return fmt::format("{}({} : {})", choices_.once_in(2) ? "any" : "all", variables, inside);
    }
    }
}

}  // namespace heddle::random
