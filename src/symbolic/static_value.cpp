#include "symbolic/static_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heddle {

StaticValue StaticValue::of(List elements) {
    auto shared = std::make_shared<SharedList>();
    shared->elements = std::move(elements);
    for (const StaticValue& element : shared->elements)
        shared->depth = std::max(shared->depth, element.list_depth() + 1);
    return StaticValue(Storage(std::in_place_index<6>, std::move(shared)));
}

StaticValue StaticValue::of_sizes(std::span<const Size> sizes) {
    List elements;
    elements.reserve(sizes.size());
    for (const Size& size : sizes) elements.push_back(of(size));
    return of(std::move(elements));
}

StaticValue StaticValue::of_integers(const std::vector<int64_t>& numbers) {
    List elements;
    elements.reserve(numbers.size());
    for (int64_t number : numbers) elements.push_back(of(number));
    return of(std::move(elements));
}

std::optional<std::vector<Size>> StaticValue::sizes() const {
    if (!is_list()) return std::nullopt;
    std::vector<Size> result;
    result.reserve(list().size());
    for (const StaticValue& element : list()) {
        if (!element.is_integer()) return std::nullopt;
        result.push_back(element.size());
    }
    return result;
}

std::optional<std::vector<int64_t>> StaticValue::integers() const {
    if (!is_list()) return std::nullopt;
    std::vector<int64_t> result;
    result.reserve(list().size());
    for (const StaticValue& element : list()) {
        if (!element.is_integer()) return std::nullopt;
        result.push_back(element.integer());
    }
    return result;
}

bool StaticValue::operator==(const StaticValue& other) const {
    if (kind() != other.kind()) return false;
    switch (kind()) {
    case Kind::none: return true;
    case Kind::boolean: return boolean() == other.boolean();
    case Kind::integer: return integer() == other.integer();
    case Kind::real: return real() == other.real();
    case Kind::text: return text() == other.text();
    case Kind::dtype: return dtype() == other.dtype();
    case Kind::list: return list() == other.list();
    case Kind::tensor: return &tensor() == &other.tensor();
    }
    return false;
}

namespace {

std::string print_real(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    std::string digits = fmt::format("{}", value);
    return digits.find_first_of(".e") == std::string::npos ? digits + ".0" : digits;
}

std::string print_text(const std::string& text) {
    std::string quoted = "'";
    for (char letter : text) quoted += letter == '\'' ? std::string("''") : std::string(1, letter);
    return quoted + "'";
}

}  // namespace

std::string StaticValue::print() const {
    switch (kind()) {
    case Kind::none: return "none";
    case Kind::boolean: return boolean() ? "true" : "false";
    case Kind::integer: return size().text();
    case Kind::real: return print_real(real());
    case Kind::text: return print_text(text());
    case Kind::dtype: return std::string(name(dtype()));
    case Kind::tensor: return "(a tensor)";
    case Kind::list: break;
    }
    // A long list is of no use in a message, and a nested one could be enormous.
    constexpr size_t most_letters = 2'000;
    std::string result = "[";
    for (size_t index = 0; index < list().size(); ++index) {
        if (result.size() > most_letters) return result + ", ...]";
        if (index > 0) result += ", ";
        result += list()[index].print();
    }
    return result + "]";
}

std::string StaticValue::describe() const {
    switch (kind()) {
    case Kind::none: return "none";
    case Kind::boolean: return "a bool";
    case Kind::integer: return "an integer";
    case Kind::real: return "a float";
    case Kind::text: return "a text";
    case Kind::dtype: return "a dtype";
    case Kind::tensor: return "a tensor";
    case Kind::list: return fmt::format("a list of {} element{}", list().size(), list().size() == 1 ? "" : "s");
    }
    return {};
}

}  // namespace heddle
