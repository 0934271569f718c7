#include "support/diagnostic.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include <fmt/format.h>

namespace heddle {
namespace {

// A line that is longer than this is shown around its place.
constexpr size_t widest_line = 240, shown_before_place = 100;

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::string caret_lines(const Place& place) {
    if (!place.source) return {};
    const std::string_view line = place.source->line_at(place.offset);
    const size_t begin = static_cast<size_t>(line.data() - place.source->text().data());
    const size_t at = std::min(std::min(place.offset, place.source->text().size()) - begin, line.size());
    size_t from = 0, to = line.size();
    if (line.size() > widest_line) {
        from = at > shown_before_place ? at - shown_before_place : 0;
        while (from > 0 && is_continuation(line[from])) from--;
        to = std::min(from + widest_line, line.size());
        while (to < line.size() && is_continuation(line[to])) to++;
    }
    const std::string_view cut = "...", before = from > 0 ? cut : "", after = to < line.size() ? cut : "";
    std::string pad(before.size(), ' ');
    for (char c : line.substr(from, at - from)) {
        if (!is_continuation(c)) pad += c == '\t' ? '\t' : ' ';
    }
    const size_t room = std::max<size_t>(to - at, 1);
    return fmt::format("    {}{}{}\n    {}{:^>{}}\n", before, line.substr(from, to - from), after, pad, "",
                       std::clamp<size_t>(place.length, 1, room));
}

std::string position(const Place& place) {
    if (!place.source) return {};
    auto at = place.source->locate(place.offset);
    return fmt::format("{}:{}:{}: ", place.source->name(), at.line, at.column);
}

nlohmann::ordered_json position_json(const Place& place) {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    if (place.source) {
        auto at = place.source->locate(place.offset);
        json["file"] = place.source->name();
        json["line"] = at.line;
        json["column"] = at.column;
    }
    return json;
}

}  // namespace

std::string render(const Diagnostic& d) {
    std::string text = fmt::format("{}error[{}]: {}\n", position(d.place), d.code, d.summary);
    text += caret_lines(d.place);
    auto row = [&](const char* name, const std::string& value) {
        if (!value.empty()) text += fmt::format("  {:>8}: {}\n", name, value);
    };
    row("expected", d.expected);
    row("found", d.found);
    row("reason", d.reason);
    row("remedy", d.remedy);
    for (const auto& context : d.contexts) {
        text += fmt::format("  {}note: {}\n{}", position(context.place), context.message, caret_lines(context.place));
    }
    return text;
}

std::string render(const Diagnostics& diagnostics) {
    std::string text;
    for (const auto& d : diagnostics) text += render(d);
    return text;
}

std::string render_json(const Diagnostics& diagnostics) {
    auto list = nlohmann::ordered_json::array();
    for (const auto& d : diagnostics) {
        nlohmann::ordered_json json;
        json["type"] = d.code;
        json["summary"] = d.summary;
        json["message"] = render(d);
        json.update(position_json(d.place));
        auto params = nlohmann::ordered_json::object();
        auto param = [&](const char* name, const std::string& value) {
            if (!value.empty()) params[name] = value;
        };
        param("expected", d.expected);
        param("found", d.found);
        param("reason", d.reason);
        param("remedy", d.remedy);
        for (const auto& [name, value] : d.params) params[name] = value;
        json["params"] = std::move(params);
        auto contexts = nlohmann::ordered_json::array();
        for (const auto& context : d.contexts) {
            nlohmann::ordered_json entry;
            entry["message"] = context.message;
            entry.update(position_json(context.place));
            contexts.push_back(std::move(entry));
        }
        json["contexts"] = std::move(contexts);
        list.push_back(std::move(json));
    }
    return list.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

namespace {

// Levenshtein distance with two rows.
size_t edit_distance(const std::string& a, const std::string& b) {
    std::vector<size_t> previous(b.size() + 1), current(b.size() + 1);
    std::iota(previous.begin(), previous.end(), size_t{0});
    for (size_t i = 1; i <= a.size(); i++) {
        current[0] = i;
        for (size_t j = 1; j <= b.size(); j++) {
            size_t replace = previous[j - 1] + (a[i - 1] != b[j - 1]);
            current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replace});
        }
        std::swap(previous, current);
    }
    return previous[b.size()];
}

}  // namespace

namespace {

std::string lower(std::string text) {
    for (char& letter : text)
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    return text;
}

}  // namespace

std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates) {
    std::string best;
    // Of a name of one or two letters nearly any other is an edit or two away.
    size_t most = name.size() <= 2 ? name.size() / 2 : std::max<size_t>(2, name.size() / 3);
    size_t best_distance = most + 1;
    for (const auto& candidate : candidates) {
        if (candidate.size() > name.size() + best_distance || name.size() > candidate.size() + best_distance) continue;
        if (lower(candidate) == lower(name)) return candidate;  // Relu for relu
        size_t distance = edit_distance(name, candidate);
        // Two edits of a short name make nearly any other: only two letters that have changed places count.
        if (name.size() <= 4 && distance == 2 && !std::ranges::is_permutation(name, candidate)) continue;
        if (distance < best_distance) {
            best_distance = distance;
            best = candidate;
        }
    }
    return best;
}

}  // namespace heddle
