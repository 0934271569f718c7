#include "symbolic/value.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/spelling.h"

namespace heddle {

Value Value::of(List elements) {
    auto shared = std::make_shared<SharedList>();
    shared->elements = std::move(elements);
    bool from_template = true;
    for (const Value& element : shared->elements) {
        shared->depth = std::max(shared->depth, element.list_depth() + 1);
        shared->is_static = shared->is_static && element.is_static();
        from_template = from_template && element.from_template();
    }
    // Among elements each keeps its own mark.
    from_template = from_template || !shared->is_static;
    Value value(Kind::list, {.integer = 0});
    value.from_template_ = from_template;
    value.shared_ = std::move(shared);
    return value;
}

Value Value::of(std::string value) {
    Value result(Kind::text, {.integer = 0});
    result.shared_ = std::make_shared<const std::string>(std::move(value));
    return result;
}

Value Value::at(size_t position) const {
    if (!is_list()) return *this;
    Value element = list()[position];
    element.from_template_ = element.from_template_ && from_template_;
    return element;
}

Value Value::of_sizes(std::span<const Size> sizes) {
    List elements;
    elements.reserve(sizes.size());
    for (const Size& size : sizes) elements.push_back(of(size));
    return of(std::move(elements));
}

Value Value::of_integers(const std::vector<int64_t>& numbers) {
    List elements;
    elements.reserve(numbers.size());
    for (int64_t number : numbers) elements.push_back(of(number));
    return of(std::move(elements));
}

std::optional<std::vector<Size>> Value::sizes() const {
    if (!is_list()) return std::nullopt;
    std::vector<Size> result;
    result.reserve(list().size());
    for (const Value& element : list()) {
        if (!element.is_integer()) return std::nullopt;
        result.push_back(element.size());
    }
    return result;
}

std::optional<std::vector<int64_t>> Value::integers() const {
    if (!is_list()) return std::nullopt;
    std::vector<int64_t> result;
    result.reserve(list().size());
    for (const Value& element : list()) {
        if (!element.is_integer()) return std::nullopt;
        result.push_back(element.integer());
    }
    return result;
}

Value Value::as_real() const {
    const auto sizes = is_of_sizes() ? quotient() : std::nullopt;
    const auto held = sizes && is_integer() ? float64_sizes().converted(*sizes) : sizes;
    return held ? of_real(*held) : of(number());
}

std::optional<SizeQuotient> Value::quotient() const {
    if (is_integer()) return SizeQuotient(size());
    return shared_ ? *static_cast<const SizeQuotient*>(shared_.get()) : SizeQuotient::of(scalar_.real);
}

std::optional<Size> difference_of_sizes(const Value& a, const Value& b) {
    if (!a.is_of_sizes() && !b.is_of_sizes()) return std::nullopt;
    const auto x = a.quotient(), y = b.quotient();
    return x && y ? float64_sizes().difference(*x, *y) : std::nullopt;
}

bool equal_numbers(const Value& a, const Value& b) {
    const auto apart = difference_of_sizes(a, b);
    return apart ? *apart == 0 : a.number() == b.number();
}

bool Value::operator==(const Value& other) const {
    if (kind() != other.kind()) return false;
    switch (kind()) {
    case Kind::none: return true;
    case Kind::boolean: return boolean() == other.boolean();
    case Kind::integer: return size() == other.size();
    case Kind::real: return equal_numbers(*this, other);
    case Kind::text: return text() == other.text();
    case Kind::dtype: return dtype() == other.dtype();
    case Kind::list: return list() == other.list();
    case Kind::tensor: return &tensor() == &other.tensor();
    case Kind::element: return element() == other.element();
    case Kind::array: return array() == other.array();
    case Kind::result: return result() == other.result();
    case Kind::failed: return true;
    }
    return false;
}

std::string Value::print() const {
    switch (kind()) {
    case Kind::none: return "none";
    case Kind::boolean: return boolean() ? "true" : "false";
    case Kind::integer: return size().text();
    case Kind::real: return real_text(scalar_.real, DType::float64);
    case Kind::text: return in_quotes(text());
    case Kind::dtype: return std::string(name(dtype()));
    case Kind::list: break;
    default: return fmt::format("({})", describe());
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

std::string Value::describe() const {
    switch (kind()) {
    case Kind::none: return "none";
    case Kind::boolean: return "a bool";
    case Kind::integer: return "an integer";
    case Kind::real: return "a float";
    case Kind::text: return "a text";
    case Kind::dtype: return "a dtype";
    case Kind::tensor:
    case Kind::result: return "a tensor";
    case Kind::element: return "an element";
    case Kind::array: return "an array";
    case Kind::failed: return "a name that failed";
    case Kind::list: return fmt::format("a list of {} element{}", list().size(), list().size() == 1 ? "" : "s");
    }
    return {};
}

}  // namespace heddle
