#include "flavours/type.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace heddle::flavours {
namespace {

// "Array64": one to six digits, so that a count is never too large.
bool is_array(std::string_view form) {
    std::string_view digits = form.substr(std::min<size_t>(form.size(), 5));
    return form.starts_with("Array") && !digits.empty() && digits.size() <= 6 &&
           std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string Type::text() const {
    std::string name = element;
    if (!name.empty()) name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
    return placement + name + form;
}

bool matches(const Type& pattern, const Type& type) {
    auto fits = [](const std::string& wanted, const std::string& found) { return wanted.empty() || wanted == found; };
    return fits(pattern.placement, type.placement) && fits(pattern.element, type.element) &&
           fits(pattern.form, type.form);
}

std::string Placement::text() const {
    return hosts.size() == 1 ? name : fmt::format("{}({})", name, fmt::join(hosts, ", "));
}

Placement host(std::string name) { return {"Host", name, {name}}; }

Vocabulary::Vocabulary() {
    for (const DTypeInfo& dtype : all_dtypes()) elements.emplace(dtype.name, dtype.dtype);
    elements.emplace("ring64", DType::uint64);
    elements.emplace("bit", DType::boolean);
}

Result<Type> Vocabulary::parse(const std::string& word, const Place& place) const {
    Type type;
    std::string_view rest = word;
    for (const std::string& placement : placements) {
        if (rest.starts_with(placement) && placement.size() > type.placement.size()) type.placement = placement;
    }
    rest.remove_prefix(type.placement.size());
    if (!type.placement.empty() && rest == "Placement") return type;
    size_t array = rest.rfind("Array");
    for (std::string_view form : {"Tensor", "Key"}) {
        if (rest.ends_with(form)) type.form = form;
    }
    if (array != rest.npos && is_array(rest.substr(array))) type.form = rest.substr(array);
    rest.remove_suffix(type.form.size());
    std::string element(rest);
    std::ranges::transform(element, element.begin(), [](unsigned char c) { return std::tolower(c); });
    bool capital = rest.empty() || (rest[0] >= 'A' && rest[0] <= 'Z');
    if (capital && (rest.empty() || elements.contains(element))) {
        type.element = element;
        return type;
    }
    std::vector<std::string> known;
    for (const auto& [name, dtype] : elements) known.push_back(name);
    Diagnostic diagnostic{.code = "flavours.type_word",
                          .summary = fmt::format("`{}` is not a type", word),
                          .place = place,
                          .expected = fmt::format("a placement ({}), an element and a form (Tensor, Key, Array64), or "
                                                  "some of them, as HostRing64Tensor",
                                                  fmt::join(placements, ", "))};
    std::string nearest = nearest_name(element, known);
    diagnostic.remedy = nearest.empty() ? fmt::format("elements are {}", fmt::join(known, ", "))
                                        : fmt::format("did you mean the element {}?", nearest);
    return fail(std::move(diagnostic));
}

}  // namespace heddle::flavours
