#include "symbolic/body_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "zspace/checked.h"

namespace heddle {

using ValueKind = BodyValue::Kind;

namespace {

constexpr size_t longest_table = 1'024;  // of a table that is looked up by comparing

bool any_list(const std::vector<BodyValue>& values) {
    return std::any_of(values.begin(), values.end(), [](const BodyValue& value) { return value.is_list(); });
}

bool all_fixed(const std::vector<BodyValue>& values) {
    return std::all_of(values.begin(), values.end(), [](const BodyValue& value) { return value.is_fixed(); });
}

bool all_from_template(const std::vector<BodyValue>& values) {
    return std::all_of(values.begin(), values.end(), [](const BodyValue& value) { return value.from_template; });
}

}  // namespace

void BodyValues::refuse_type(const Place& place, std::string summary, std::string expected, std::string remedy) {
    Diagnostic diagnostic = elements_.error("symbolic.type", place, std::move(summary));
    diagnostic.expected = std::move(expected);
    diagnostic.remedy = std::move(remedy);
    elements_.refuse(std::move(diagnostic));
}

void BodyValues::spend(int64_t steps, const Place& place) {
    const BodyNodes& nodes = elements_.nodes();
    if (budget_.spend(steps) && nodes.body().nodes.size() <= largest_body) return;
    Diagnostic diagnostic = elements_.error("symbolic.limit", place, "the body takes too many steps to build");
    diagnostic.expected = fmt::format("at most {} steps and {} nodes", largest_evaluation, largest_body);
    diagnostic.remedy = "use a reduction variable instead of a long list";
    elements_.refuse(std::move(diagnostic));
}

BodyValue BodyValues::unwrapped(Result<StaticValue> value, bool from_template) {
    if (!value) throw BodyFailure{std::move(value.error())};
    return BodyValue::of(std::move(*value), from_template);
}

Element BodyValues::element(const BodyValue& value, const Place& place) {
    switch (value.kind) {
    case ValueKind::element:
        if (elements_.nodes().depth(value.element.node) > deepest_body) {
            Diagnostic diagnostic =
                elements_.error("symbolic.limit", place, "the body's expressions are too deep together");
            diagnostic.expected = fmt::format("at most {} operations below one another", deepest_body);
            diagnostic.remedy = "reduce over a stacked tensor instead of a list of tensors";
            elements_.refuse(std::move(diagnostic));
        }
        return value.element;
    case ValueKind::fixed: return elements_.literal(value.value, value.from_template, place);
    case ValueKind::failed: throw BodyFailure{};
    case ValueKind::list:
        refuse_type(place, fmt::format("a list of {} elements stands where one element is needed", value.list.size()),
                    "one element", "pick one element, or reduce the list with sum, all, any, min or max");
    default: refuse_type(place, "an array stands where one element is needed", "one element", "give it coordinates");
    }
}

std::vector<BodyValue> BodyValues::items(BodyValue value, const Place& place) {
    if (value.kind == ValueKind::failed) throw BodyFailure{};
    if (!value.is_list()) refuse_type(place, "a list is needed here", "a list", "");
    spend(static_cast<int64_t>(value.size()), place);
    if (value.kind == ValueKind::list) return std::move(value.list);
    std::vector<BodyValue> result;
    result.reserve(value.size());
    for (const StaticValue& item : value.value.list()) result.push_back(BodyValue::of(item, value.from_template));
    return result;
}

BodyValue BodyValues::list_of(std::vector<BodyValue> items) const {
    if (!all_fixed(items)) return BodyValue::of(std::move(items));
    bool from_template = all_from_template(items);
    StaticValue::List values;
    values.reserve(items.size());
    for (BodyValue& item : items) values.push_back(std::move(item.value));
    return BodyValue::of(StaticValue::of(std::move(values)), from_template);
}

BodyValue BodyValues::each(const BodyValue& a, const Place& place,
                           const std::function<BodyValue(const BodyValue&)>& f) {
    if (!a.is_list()) return f(a);
    std::vector<BodyValue> result;
    for (const BodyValue& item : items(a, place)) result.push_back(each(item, place, f));
    return list_of(std::move(result));
}

// Elementwise over the lists among the arguments, which have one length; the others repeat.
BodyValue BodyValues::zip(const std::vector<BodyValue>& arguments, std::string_view what, const Place& place,
                          const std::function<BodyValue(const std::vector<BodyValue>&)>& f) {
    if (!any_list(arguments)) return f(arguments);
    std::optional<size_t> length;
    for (const BodyValue& argument : arguments) {
        if (!argument.is_list()) continue;
        if (length && *length != argument.size()) {
            Diagnostic diagnostic =
                elements_.error("symbolic.length", place,
                                fmt::format("{} of lists of {} and {} elements", what, *length, argument.size()));
            diagnostic.expected = "lists of one length";
            diagnostic.found = fmt::format("{} and {} elements", *length, argument.size());
            elements_.refuse(std::move(diagnostic));
        }
        length = argument.size();
    }
    spend(static_cast<int64_t>(*length), place);
    std::vector<BodyValue> result;
    result.reserve(*length);
    for (size_t i = 0; i < *length; ++i) {
        std::vector<BodyValue> ith;
        ith.reserve(arguments.size());
        for (const BodyValue& argument : arguments) ith.push_back(argument.is_list() ? argument.at(i) : argument);
        result.push_back(zip(ith, what, place, f));
    }
    return list_of(std::move(result));
}

BodyValue BodyValues::unary(std::string_view spelled, const BodyValue& a, const Place& place) {
    if (a.is_fixed()) return unwrapped(static_unary(spelled, a.value, place, budget_), a.from_template);
    return each(a, place, [&](const BodyValue& item) {
        if (item.is_fixed()) return unary(spelled, item, place);
        Element operand = element(item, place);
        return BodyValue::of(spelled == "-" ? elements_.negated(operand, place) : elements_.inverted(operand, place));
    });
}

BodyValue BodyValues::binary(std::string_view spelled, const BodyValue& a, const BodyValue& b, const Place& place) {
    if (a.is_fixed() && b.is_fixed())
        return unwrapped(static_binary(spelled, a.value, b.value, place, budget_), a.from_template && b.from_template);
    bool equality = spelled == "==" || spelled == "!=";
    if (equality && a.is_list() && b.is_list()) {
        // Two lists are compared as wholes.
        BodyValue equal = BodyValue::of(StaticValue::of(a.size() == b.size()), true);
        for (size_t i = 0; a.size() == b.size() && i < a.size(); ++i)
            equal = both(equal, binary("==", a.at(i), b.at(i), place), place);
        return spelled == "==" ? equal : unary("!", equal, place);
    }
    if (!a.is_list() && !b.is_list())
        return BodyValue::of(elements_.binary(spelled, element(a, place), element(b, place), place));
    return zip({a, b}, spelled, place,
               [&](const std::vector<BodyValue>& pair) { return binary(spelled, pair[0], pair[1], place); });
}

BodyValue BodyValues::both(const BodyValue& a, const BodyValue& b, const Place& place) {
    for (const auto* side : {&a, &b})
        if (side->is_fixed() && side->value.is_boolean()) {
            const BodyValue& other = side == &a ? b : a;
            if (!side->value.boolean()) return *side;
            if (!other.is_fixed()) element(other, place);  // a list is never a condition
            return other;
        }
    return BodyValue::of(elements_.both(element(a, place), element(b, place), place));
}

BodyValue BodyValues::either(const BodyValue& a, const BodyValue& b, const Place& place) {
    for (const auto* side : {&a, &b})
        if (side->is_fixed() && side->value.is_boolean()) {
            const BodyValue& other = side == &a ? b : a;
            if (side->value.boolean()) return *side;
            if (!other.is_fixed()) element(other, place);
            return other;
        }
    return BodyValue::of(elements_.either(element(a, place), element(b, place), place));
}

BodyValue BodyValues::select(const BodyValue& condition, const BodyValue& a, const BodyValue& b, const Place& place) {
    if (condition.is_fixed() && condition.value.is_boolean()) return condition.value.boolean() ? a : b;
    Element chosen = element(condition, place);
    if (!a.is_list() && !b.is_list())
        return BodyValue::of(elements_.select(chosen, element(a, place), element(b, place), place));
    return zip({a, b}, "?:", place, [&](const std::vector<BodyValue>& pair) {
        return BodyValue::of(elements_.select(chosen, element(pair[0], place), element(pair[1], place), place));
    });
}

BodyValue BodyValues::cast(const BodyValue& a, DType dtype, const Place& place) {
    return each(a, place, [&](const BodyValue& item) {
        return BodyValue::of(elements_.cast(element(item, place), dtype, place));
    });
}

int64_t BodyValues::static_integer(const BodyValue& value, std::string_view what, const Place& place) {
    if (value.kind == ValueKind::failed) throw BodyFailure{};
    if (value.is_fixed() && value.value.is_integer()) return value.value.integer();
    refuse_type(place, fmt::format("{} is not a static integer", what), "a static integer", "");
}

BodyValue BodyValues::pick(const BodyValue& base, const BodyValue& index, const Place& place) {
    if (base.kind == ValueKind::failed || index.kind == ValueKind::failed) throw BodyFailure{};
    if (base.is_fixed() && index.is_fixed())
        return unwrapped(static_element(base.value, index.value, place, budget_),
                         base.from_template && index.from_template);
    if (!base.is_list()) refuse_type(place, "only a list or a tensor has elements", "a list or a tensor", "");
    if (index.is_list()) return each(index, place, [&](const BodyValue& item) { return pick(base, item, place); });
    if (index.kind == ValueKind::element) return table(base, index, place);
    int64_t position = static_integer(index, "the position", place);
    auto count = static_cast<int64_t>(base.size());
    if (position < -count || position >= count) {
        Diagnostic diagnostic =
            elements_.error("symbolic.range", place, fmt::format("element {} of a list of {}", position, count));
        diagnostic.expected = fmt::format("a position in {} .. {}", -count, count - 1);
        diagnostic.found = std::to_string(position);
        elements_.refuse(std::move(diagnostic));
    }
    return base.at(static_cast<size_t>(position < 0 ? position + count : position));
}

// A constant list and a variable: an affine form of it where the list is a progression, else a chain of selections.
BodyValue BodyValues::table(const BodyValue& base, const BodyValue& index, const Place& place) {
    std::vector<BodyValue> entries = items(base, place);
    auto refuse_table = [&](std::string found) {
        Diagnostic diagnostic = elements_.error("symbolic.table", place, "this list cannot be looked up by a variable");
        diagnostic.expected = fmt::format("a list of 1 to {} numbers", longest_table);
        diagnostic.found = std::move(found);
        diagnostic.remedy = "pass the table as an input tensor";
        elements_.refuse(std::move(diagnostic));
    };
    if (entries.empty() || entries.size() > longest_table) refuse_table(fmt::format("{} elements", entries.size()));
    for (const BodyValue& entry : entries)
        if (entry.is_list() || (entry.is_fixed() && !entry.value.is_number())) refuse_table(base.value.describe());
    auto integers = base.is_fixed() ? base.value.integers() : std::nullopt;
    // The numbers of a shape may happen to be a progression now, and each keeps its origin.
    bool named = integers &&
                 std::ranges::any_of(base.value.list(), [](const StaticValue& entry) { return entry.size().named(); });
    if (integers && !named) {
        auto step = integers->size() > 1 ? checked_subtract((*integers)[1], (*integers)[0]) : std::optional<int64_t>(0);
        bool progression = step.has_value();
        for (size_t i = 1; progression && i < integers->size(); ++i)
            progression = checked_subtract((*integers)[i], (*integers)[i - 1]) == step;
        if (progression && (integers->size() > 1 || index.element.weak == Element::Weak::integer)) {
            BodyValue scaled = binary("*", index, BodyValue::of(StaticValue::of(*step), base.from_template), place);
            return binary("+", scaled, BodyValue::of(StaticValue::of((*integers)[0]), base.from_template), place);
        }
    }
    BodyValue result = BodyValue::of(element(entries.back(), place));
    for (size_t i = entries.size() - 1; i-- > 0;) {
        BodyValue here = binary("==", index, BodyValue::of(StaticValue::of(static_cast<int64_t>(i)), true), place);
        result = select(here, entries[i], result, place);
    }
    return result;
}

BodyValue BodyValues::slice(const BodyValue& base, const BodyValue& from, const BodyValue& to, const Place& place) {
    if (base.kind == ValueKind::failed || from.kind == ValueKind::failed || to.kind == ValueKind::failed) throw BodyFailure{};
    if (!from.is_fixed() || !to.is_fixed())
        refuse_type(place, "the bounds of a slice are static", "static integers", "");
    if (base.is_fixed())
        return unwrapped(static_slice(base.value, from.value, to.value, place, budget_), base.from_template);
    std::vector<BodyValue> all = items(base, place);
    auto count = static_cast<int64_t>(all.size());
    auto bound = [&](const BodyValue& value, int64_t fallback) {
        if (value.value.is_none()) return fallback;
        int64_t position = static_integer(value, "the bound of a slice", place);
        return std::clamp<int64_t>(position < 0 ? position + count : position, 0, count);
    };
    int64_t first = bound(from, 0), last = std::max(first, bound(to, count));
    return list_of({all.begin() + first, all.begin() + last});
}

BodyValue BodyValues::least_or_greatest(bool least, const BodyValue& a, const BodyValue& b, const Place& place) {
    std::string_view name = least ? "min" : "max";
    return zip({a, b}, name, place, [&](const std::vector<BodyValue>& pair) {
        bool static_numbers =
            pair[0].is_fixed() && pair[1].is_fixed() && pair[0].value.is_number() && pair[1].value.is_number();
        if (static_numbers) {
            StaticValue both_values[] = {pair[0].value, pair[1].value};
            return unwrapped(static_function(name, both_values, place, budget_), all_from_template(pair));
        }
        ScalarOp op = least ? ScalarOp::minimum : ScalarOp::maximum;
        return BodyValue::of(elements_.binary_function(op, element(pair[0], place), element(pair[1], place), place));
    });
}

BodyValue BodyValues::combined(std::string_view reducer, const std::vector<BodyValue>& terms, const Place& place) {
    auto fold = [&](const auto& step, StaticValue empty) {
        if (terms.empty()) return BodyValue::of(std::move(empty), true);
        BodyValue result = terms[0];
        for (size_t i = 1; i < terms.size(); ++i) result = step(result, terms[i]);
        return result;
    };
    spend(static_cast<int64_t>(terms.size()), place);
    if (reducer == "sum")
        return fold([&](const BodyValue& a, const BodyValue& b) { return binary("+", a, b, place); },
                    StaticValue::of(0));
    if (reducer == "prod")
        return fold([&](const BodyValue& a, const BodyValue& b) { return binary("*", a, b, place); },
                    StaticValue::of(1));
    if (reducer == "all")
        return fold([&](const BodyValue& a, const BodyValue& b) { return both(a, b, place); }, StaticValue::of(true));
    if (reducer == "any")
        return fold([&](const BodyValue& a, const BodyValue& b) { return either(a, b, place); },
                    StaticValue::of(false));
    if (reducer == "min" || reducer == "max") {
        if (terms.empty()) refuse_type(place, fmt::format("{} of an empty list", reducer), "at least one element", "");
        return fold(
            [&](const BodyValue& a, const BodyValue& b) { return least_or_greatest(reducer == "min", a, b, place); },
            StaticValue::none());
    }
    refuse_type(place, fmt::format("{} of a list", reducer), "sum, prod, min, max, all or any", "");
}

}  // namespace heddle
