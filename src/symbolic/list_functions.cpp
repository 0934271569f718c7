// Functions of lists and of texts.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "symbolic/function_rules.h"

namespace heddle {
namespace {

using List = Value::List;

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
        if (!extent.is_integer()) call.operations.integer(extent, "an extent", call.place);  // which refuses it
        if (extent.size() < 1) extent = Value::of(1);
        result[i] = call.binary(ScalarOp::modulo, rest, extent);
        rest = call.binary(ScalarOp::floor_divide, rest, extent);
    }
    if (!result.empty()) result[0] = rest;
    return Value::of(std::move(result));
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

// Where each of parts that follow one another begins: the sums of the sizes before it. Where they end stands last.
Value offsets(const FunctionCall& call) {
    List result{Value::of(int64_t{0})};
    for (const Value& size : call.list(0))
        result.push_back(call.binary(ScalarOp::add, result.back(), size));
    return Value::of(std::move(result));
}

constexpr std::array list_rules = {
    FunctionRule{.name = "len", .any = length},
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
    FunctionRule{.name = "offsets", .any = offsets},
    FunctionRule{.name = "concat", .any = concatenated},
    FunctionRule{.name = "broadcast", .fixed = broadcast},
    FunctionRule{.name = "flatten", .any = flattened},
    FunctionRule{.name = "unflatten", .any = unflattened},
    FunctionRule{.name = "split_text", .fixed = split_text},
    FunctionRule{.name = "chars", .fixed = chars},
};

}  // namespace

std::span<const FunctionRule> list_function_rules() { return list_rules; }

}  // namespace heddle
