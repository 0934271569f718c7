// The functions of lists and text.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "symbolic/static_errors.h"
#include "symbolic/static_function_table.h"

namespace heddle {
namespace {

using Value = StaticValue;
using List = StaticValue::List;
using Arguments = std::span<const StaticValue>;

Result<const List*> list_argument(const Value& value, const Place& place, EvaluationBudget& budget) {
    if (!value.is_list()) return type_error(place, "a function of lists", "a list", value);
    if (auto spent = spend_list(static_cast<int64_t>(value.list().size()), place, budget); !spent) {
        return std::unexpected(spent.error());
    }
    return &value.list();
}

Result<int64_t> integer_argument(const Value& value, const Place& place) {
    if (!value.is_integer()) return type_error(place, "an integer is needed here", "an integer", value);
    return value.integer();
}

// Positions: an integer or a list of integers, each in [0, limit) (negative ones count from the end), none twice.
Result<std::vector<size_t>> positions_argument(const Value& value, size_t limit, const Place& place) {
    List single;
    if (!value.is_list()) single.push_back(value);
    const List& wanted = value.is_list() ? value.list() : single;
    std::vector<size_t> positions;
    std::vector<bool> taken(limit, false);
    for (const Value& element : wanted) {
        auto number = integer_argument(element, place);
        if (!number) return std::unexpected(number.error());
        int64_t position = *number < 0 ? *number + static_cast<int64_t>(limit) : *number;
        if (position < 0 || position >= static_cast<int64_t>(limit)) {
            return static_error("symbolic.range", place,
                                fmt::format("position {} in a list of {} elements", *number, limit));
        }
        if (taken[static_cast<size_t>(position)]) {
            return static_error("symbolic.arguments", place, fmt::format("position {} twice", *number));
        }
        taken[static_cast<size_t>(position)] = true;
        positions.push_back(static_cast<size_t>(position));
    }
    return positions;
}

// The value for position number `index`: an element of a list of as many, or the scalar.
Result<void> check_values(const Value& values, size_t count, const Place& place) {
    if (!values.is_list() || values.list().size() == count) return {};
    return static_error("symbolic.length", place,
                        fmt::format("{} positions, but {} values", count, values.list().size()));
}
const Value& value_at(const Value& values, size_t index) { return values.is_list() ? values.list()[index] : values; }

Result<Value> length(Arguments arguments, const Place& place, EvaluationBudget&) {
    if (arguments[0].is_text()) return Value::of(static_cast<int64_t>(arguments[0].text().size()));
    if (!arguments[0].is_list()) return type_error(place, "len counts the elements of a list", "a list", arguments[0]);
    return Value::of(static_cast<int64_t>(arguments[0].list().size()));
}

Result<Value> contains(Arguments arguments, const Place& place, EvaluationBudget& budget) {
    if (arguments[0].is_text()) {
        if (!arguments[1].is_text())
            return type_error(place, "contains looks for a text in a text", "a text", arguments[1]);
        return Value::of(arguments[0].text().find(arguments[1].text()) != std::string::npos);
    }
    auto list = list_argument(arguments[0], place, budget);
    if (!list) return std::unexpected(list.error());
    return Value::of(std::find((*list)->begin(), (*list)->end(), arguments[1]) != (*list)->end());
}

Result<Value> position(Arguments arguments, const Place& place, EvaluationBudget& budget) {
    auto list = list_argument(arguments[0], place, budget);
    if (!list) return std::unexpected(list.error());
    auto found = std::find((*list)->begin(), (*list)->end(), arguments[1]);
    if (found == (*list)->end()) {
        return static_error("symbolic.range", place,
                            fmt::format("{} does not contain {}", arguments[0].print(), arguments[1].print()));
    }
    return Value::of(static_cast<int64_t>(found - (*list)->begin()));
}

Result<Value> unique(Arguments arguments, const Place& place, EvaluationBudget& budget) {
    auto list = list_argument(arguments[0], place, budget);
    if (!list) return std::unexpected(list.error());
    List result;
    for (const Value& element : **list) {
        if (!budget.spend(static_cast<int64_t>(result.size()))) return limit_error(place, "too many steps to evaluate");
        if (std::find(result.begin(), result.end(), element) == result.end()) result.push_back(element);
    }
    return Value::of(std::move(result));
}

Result<Value> sorted(Arguments arguments, const Place& place, EvaluationBudget& budget) {
    auto list = list_argument(arguments[0], place, budget);
    if (!list) return std::unexpected(list.error());
    List result = **list;
    bool numbers = std::all_of(result.begin(), result.end(), [](const Value& value) { return value.is_integer(); });
    bool texts = std::all_of(result.begin(), result.end(), [](const Value& value) { return value.is_text(); });
    if (!numbers && !texts) return static_error("symbolic.type", place, "sort orders integers, or texts");
    std::stable_sort(result.begin(), result.end(), [&](const Value& a, const Value& b) {
        return numbers ? a.integer() < b.integer() : a.text() < b.text();
    });
    return Value::of(std::move(result));
}

Result<Value> reversed(Arguments arguments, const Place& place, EvaluationBudget& budget) {
    auto list = list_argument(arguments[0], place, budget);
    if (!list) return std::unexpected(list.error());
    return Value::of(List((*list)->rbegin(), (*list)->rend()));
}

// range(end), range(begin, end), range(begin, end, step).
Result<Value> range(Arguments arguments, const Place& place, EvaluationBudget& budget) {
    int64_t bounds[3] = {0, 0, 1};
    for (size_t index = 0; index < arguments.size(); ++index) {
        auto number = integer_argument(arguments[index], place);
        if (!number) return std::unexpected(number.error());
        bounds[arguments.size() == 1 ? 1 : index] = *number;
    }
    auto [begin, end, step] = bounds;
    if (step == 0) return static_error("symbolic.arguments", place, "a range with a step of zero");
    __int128 distance = static_cast<__int128>(end) - begin;
    __int128 count = step > 0 ? (distance + step - 1) / step : (-distance - step - 1) / -static_cast<__int128>(step);
    if ((step > 0) != (distance > 0)) count = 0;
    int64_t elements = static_cast<int64_t>(std::min<__int128>(count, largest_static_list + 1));
    if (auto spent = spend_list(elements, place, budget); !spent) return std::unexpected(spent.error());
    List result;
    result.reserve(static_cast<size_t>(elements));
    for (int64_t index = 0; index < elements; ++index) result.push_back(Value::of(begin + index * step));
    return Value::of(std::move(result));
}

Result<Value> repeated(int64_t value, const Value& count, const Place& place, EvaluationBudget& budget) {
    auto number = integer_argument(count, place);
    if (!number) return std::unexpected(number.error());
    if (*number < 0) return static_error("symbolic.arguments", place, fmt::format("a list of {} elements", *number));
    if (auto spent = spend_list(*number, place, budget); !spent) return std::unexpected(spent.error());
    return Value::of(List(static_cast<size_t>(*number), Value::of(value)));
}
Result<Value> zeros(Arguments a, const Place& p, EvaluationBudget& b) { return repeated(0, a[0], p, b); }
Result<Value> ones(Arguments a, const Place& p, EvaluationBudget& b) { return repeated(1, a[0], p, b); }

// The inverse of a permutation.
Result<Value> inverse(Arguments arguments, const Place& place, EvaluationBudget& budget) {
    auto list = list_argument(arguments[0], place, budget);
    if (!list) return std::unexpected(list.error());
    auto positions = positions_argument(arguments[0], (*list)->size(), place);
    if (!positions) return std::unexpected(positions.error());
    List result(positions->size());
    for (size_t index = 0; index < positions->size(); ++index) {
        result[(*positions)[index]] = Value::of(static_cast<int64_t>(index));
    }
    return Value::of(std::move(result));
}

// insert(list, positions, values): the positions are those in the result.
Result<Value> insert(Arguments arguments, const Place& place, EvaluationBudget& budget) {
    auto list = list_argument(arguments[0], place, budget);
    if (!list) return std::unexpected(list.error());
    size_t more = arguments[1].is_list() ? arguments[1].list().size() : 1;
    size_t total = (*list)->size() + more;
    if (auto spent = spend_list(static_cast<int64_t>(total), place, budget); !spent)
        return std::unexpected(spent.error());
    auto positions = positions_argument(arguments[1], total, place);
    if (!positions) return std::unexpected(positions.error());
    if (auto checked = check_values(arguments[2], more, place); !checked) return std::unexpected(checked.error());
    std::vector<const Value*> inserted(total, nullptr);
    for (size_t index = 0; index < more; ++index) inserted[(*positions)[index]] = &value_at(arguments[2], index);
    List result;
    result.reserve(total);
    auto next = (*list)->begin();
    for (const Value* value : inserted) result.push_back(value ? *value : *next++);
    return Value::of(std::move(result));
}

Result<Value> remove(Arguments arguments, const Place& place, EvaluationBudget& budget) {
    auto list = list_argument(arguments[0], place, budget);
    if (!list) return std::unexpected(list.error());
    auto positions = positions_argument(arguments[1], (*list)->size(), place);
    if (!positions) return std::unexpected(positions.error());
    std::vector<bool> gone((*list)->size(), false);
    for (size_t index : *positions) gone[index] = true;
    List result;
    for (size_t index = 0; index < gone.size(); ++index) {
        if (!gone[index]) result.push_back((**list)[index]);
    }
    return Value::of(std::move(result));
}

Result<Value> replace(Arguments arguments, const Place& place, EvaluationBudget& budget) {
    auto list = list_argument(arguments[0], place, budget);
    if (!list) return std::unexpected(list.error());
    auto positions = positions_argument(arguments[1], (*list)->size(), place);
    if (!positions) return std::unexpected(positions.error());
    if (auto checked = check_values(arguments[2], positions->size(), place); !checked)
        return std::unexpected(checked.error());
    List result = **list;
    for (size_t index = 0; index < positions->size(); ++index)
        result[(*positions)[index]] = value_at(arguments[2], index);
    return Value::of(std::move(result));
}

Result<Value> concatenate(Arguments arguments, const Place& place, EvaluationBudget& budget) {
    List result;
    for (const Value& argument : arguments) {
        auto list = list_argument(argument, place, budget);
        if (!list) return std::unexpected(list.error());
        result.insert(result.end(), (*list)->begin(), (*list)->end());
        if (auto spent = spend_list(static_cast<int64_t>(result.size()), place, budget); !spent) {
            return std::unexpected(spent.error());
        }
    }
    return Value::of(std::move(result));
}

Result<Value> broadcast(Arguments arguments, const Place& place, EvaluationBudget& budget) {
    std::vector<Size> joint;  // innermost first
    for (const Value& argument : arguments) {
        auto list = list_argument(argument, place, budget);
        if (!list) return std::unexpected(list.error());
        auto sizes = argument.sizes();
        if (!sizes) return static_error("symbolic.type", place, "broadcast joins shapes: lists of integers");
        if (sizes->size() > joint.size()) joint.resize(sizes->size(), Size(1));
        for (size_t index = 0; index < sizes->size(); ++index) {
            auto both = broadcast_sizes(joint[index], (*sizes)[sizes->size() - 1 - index]);
            if (!both) {
                return static_error("symbolic.broadcast", place,
                                    fmt::format("the shapes do not broadcast: {} meets {}", joint[index].text(),
                                                (*sizes)[sizes->size() - 1 - index].text()));
            }
            joint[index] = *both;
        }
    }
    return Value::of_sizes(std::vector<Size>(joint.rbegin(), joint.rend()));
}

// flatten(coordinates, shape): the row-major number of a point.
Result<Value> flatten(Arguments arguments, const Place& place, EvaluationBudget& budget) {
    for (const Value& argument : arguments) {
        if (auto list = list_argument(argument, place, budget); !list) return std::unexpected(list.error());
    }
    const List &coordinates = arguments[0].list(), &shape = arguments[1].list();
    if (coordinates.size() != shape.size()) {
        return static_error("symbolic.length", place,
                            fmt::format("{} coordinates in {} dimensions", coordinates.size(), shape.size()));
    }
    Value result = Value::of(0);
    for (size_t index = 0; index < shape.size(); ++index) {
        auto scaled = static_binary("*", result, shape[index], place, budget);
        if (!scaled) return scaled;
        auto next = static_binary("+", *scaled, coordinates[index], place, budget);
        if (!next) return next;
        result = std::move(*next);
    }
    return result;
}

// unflatten(number, shape): the point of a row-major number; an empty dimension counts as one.
Result<Value> unflatten(Arguments arguments, const Place& place, EvaluationBudget& budget) {
    auto shape = list_argument(arguments[1], place, budget);
    if (!shape) return std::unexpected(shape.error());
    if (!arguments[0].is_integer())
        return type_error(place, "unflatten takes a number apart", "an integer", arguments[0]);
    List result((*shape)->size());
    Value rest = arguments[0];
    for (size_t index = result.size(); index-- > 1;) {
        if (!(**shape)[index].is_integer())
            return type_error(place, "a shape is a list of integers", "an integer", (**shape)[index]);
        Value extent = Value::of(maximum((**shape)[index].size(), Size(1)));
        if (!(**shape)[index].size().named()) extent = Value::of(std::max<int64_t>(1, (**shape)[index].integer()));
        auto coordinate = static_binary("%", rest, extent, place, budget);
        auto next = static_binary("//", rest, extent, place, budget);
        if (!coordinate || !next) return coordinate ? next : coordinate;
        result[index] = std::move(*coordinate);
        rest = std::move(*next);
    }
    if (!result.empty()) result[0] = std::move(rest);
    return Value::of(std::move(result));
}

// ---- text

Result<Value> split_text(Arguments arguments, const Place& place, EvaluationBudget& budget) {
    for (const Value& argument : arguments) {
        if (!argument.is_text())
            return type_error(place, "split_text takes a text and a separator", "a text", argument);
    }
    const std::string &text = arguments[0].text(), &separator = arguments[1].text();
    if (separator.empty())
        return static_error("symbolic.arguments", place, "an empty separator", "chars(text) takes letters apart");
    if (auto spent = spend_list(static_cast<int64_t>(text.size()), place, budget); !spent)
        return std::unexpected(spent.error());
    List parts;
    size_t begin = 0;
    for (size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + separator.size()) {
        parts.push_back(Value::of(text.substr(begin, end - begin)));
    }
    parts.push_back(Value::of(text.substr(begin)));
    return Value::of(std::move(parts));
}

// The letters (code points) of a text; spaces are left out.
Result<Value> chars(Arguments arguments, const Place& place, EvaluationBudget& budget) {
    if (!arguments[0].is_text()) return type_error(place, "chars takes a text apart", "a text", arguments[0]);
    const std::string& text = arguments[0].text();
    if (auto spent = spend_list(static_cast<int64_t>(text.size()), place, budget); !spent)
        return std::unexpected(spent.error());
    List letters;
    for (size_t begin = 0; begin < text.size();) {
        size_t end = begin + 1;
        while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
        if (text[begin] != ' ') letters.push_back(Value::of(text.substr(begin, end - begin)));
        begin = end;
    }
    return Value::of(std::move(letters));
}

constexpr std::array list_functions = {
    StaticFunction{"len", 1, 1, length},
    StaticFunction{"contains", 2, 2, contains},
    StaticFunction{"position", 2, 2, position},
    StaticFunction{"unique", 1, 1, unique},
    StaticFunction{"sort", 1, 1, sorted},
    StaticFunction{"reverse", 1, 1, reversed},
    StaticFunction{"range", 1, 3, range},
    StaticFunction{"zeros", 1, 1, zeros},
    StaticFunction{"ones", 1, 1, ones},
    StaticFunction{"inverse", 1, 1, inverse},
    StaticFunction{"insert", 3, 3, insert},
    StaticFunction{"remove", 2, 2, remove},
    StaticFunction{"replace", 3, 3, replace},
    StaticFunction{"concat", 1, 64, concatenate},
    StaticFunction{"broadcast", 1, 64, broadcast},
    StaticFunction{"flatten", 2, 2, flatten},
    StaticFunction{"unflatten", 2, 2, unflatten},
    StaticFunction{"split_text", 2, 2, split_text},
    StaticFunction{"chars", 1, 1, chars},
};

}  // namespace

std::span<const StaticFunction> static_list_functions() { return list_functions; }

}  // namespace heddle
