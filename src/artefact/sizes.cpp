#include "artefact/sizes.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "zspace/checked.h"

namespace heddle::artefact {
namespace {

std::optional<int64_t> number_of(std::string_view text) {
    int64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::vector<std::string_view> split(std::string_view text, char by) {
    std::vector<std::string_view> parts;
    for (size_t at = 0;;) {
        const size_t end = text.find(by, at);
        parts.push_back(text.substr(at, end == std::string_view::npos ? end : end - at));
        if (end == std::string_view::npos) return parts;
        at = end + 1;
    }
}

std::optional<Dimension> dimension_of(std::string_view text) {
    const size_t equals = text.rfind('=');
    if (equals == std::string_view::npos || equals == 0) return std::nullopt;
    const auto parts = split(text.substr(equals + 1), ':');
    if (parts.size() > 3) return std::nullopt;
    Dimension made{std::string(text.substr(0, equals))};
    const auto take = [&](size_t part, int64_t& into) {
        const auto value = number_of(parts[part]);
        into = value.value_or(into);
        return value.has_value();
    };
    if (!take(0, made.from)) return std::nullopt;
    made.to = made.from;
    made.is_open = parts.size() > 1 && parts[1].empty();
    if (made.is_open) made.to = std::max(made.from, open_end);
    if (parts.size() > 1 && !made.is_open && !take(1, made.to)) return std::nullopt;
    if (parts.size() > 2 && !take(2, made.step)) return std::nullopt;
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    if (made.from < 0 || made.to < made.from || made.to > most || made.step < 1) return std::nullopt;
    made.to -= (made.to - made.from) % made.step;
    return made;
}

}  // namespace

Result<std::vector<Dimension>> parse_dimensions(const std::vector<std::string>& texts) {
    std::vector<Dimension> dimensions;
    Diagnostics problems;
    for (const std::string& text : texts) {
        for (std::string_view part : split(text, ',')) {
            auto dimension = dimension_of(part);
            if (dimension) {
                dimensions.push_back(std::move(*dimension));
                continue;
            }
            problems.push_back({.code = "artefact.range",
                                .summary = fmt::format("'{}' says no sizes of a dimension", part),
                                .expected = "NAME=SIZE, NAME=FROM:TO or NAME=FROM:TO:STEP, with 0 <= FROM <= TO; "
                                            "TO may be left out",
                                .remedy = "for example batch=1:64"});
        }
    }
    if (!problems.empty()) return fail(std::move(problems));
    return dimensions;
}

int64_t Dimension::below(int64_t size) const { return from + floor_divide(size - from, step) * step; }

int64_t Dimension::above(int64_t size) const { return from + ceil_divide(size - from, step) * step; }

std::string text_of(const SizeNames& sizes) {
    std::string text;
    for (const auto& [name, size] : sizes) text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, size);
    return text;
}

}  // namespace heddle::artefact
