#include "cli/bindings.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontends/onnx/import.h"

namespace heddle::cli {

BindableDimensions dimensions_of(const onnx::OnnxModel& model) {
    BindableDimensions dimensions;
    for (const auto& dimension : onnx::open_dimensions(model)) dimensions.open.push_back(dimension.name);
    dimensions.all = dimensions.open;
    return dimensions;
}

BindableDimensions dimensions_in(const std::vector<std::string>& input_types) {
    std::set<std::string> all, known;
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
    for (const std::string& text : input_types) {
        for (size_t at = std::min(text.find('['), text.size()); at < text.size();) {
            const size_t begin = at;
            while (at < text.size() && is_word(text[at])) at++;
            const std::string word = text.substr(begin, at - begin);
            const size_t next = text.find_first_not_of(" \t", at);
            const bool is_name = !word.empty() && !std::isdigit(static_cast<unsigned char>(word[0]));
            if (is_name) all.insert(word);
            if (is_name && next != std::string::npos && text[next] == '=') known.insert(word);
            if (word.empty()) at++;
        }
    }
    BindableDimensions dimensions{{all.begin(), all.end()}, {}};
    std::ranges::set_difference(all, known, std::back_inserter(dimensions.open));
    return dimensions;
}

namespace {

Diagnostic unknown_dimension(const std::string& name, const BindableDimensions& dimensions) {
    const std::string near = nearest_name(name, dimensions.all);
    return {.code = "cli.unknown_dimension",
            .summary = fmt::format("there is no dimension '{}' to bind", name),
            .expected = dimensions.all.empty() ? "no --bind: all sizes are known"
                                               : fmt::format("{}", fmt::join(dimensions.all, ", ")),
            .remedy = !near.empty()            ? fmt::format("did you mean '{}'?", near)
                      : dimensions.all.empty() ? "leave it out"
                                               : "name one of these, or '*' for all that are open",
            .params = {{"dimension", name}}};
}

}  // namespace

Result<std::vector<std::string>> resolve_bindings(const std::vector<std::string>& texts,
                                                  const BindableDimensions& dimensions) {
    std::vector<std::string> resolved;
    std::set<std::string> named;
    std::vector<std::string> for_all;  // what stands behind '*='
    Diagnostics problems;
    for (const std::string& text : texts) {
        for (size_t begin = 0; begin <= text.size();) {
            const size_t end = std::min(text.find(',', begin), text.size());
            const std::string part = text.substr(begin, end - begin);
            const size_t equals = part.rfind('=');
            const std::string name = part.substr(0, equals);
            begin = end + 1;
            if (equals != std::string::npos && name == "*") {
                for_all.push_back(part.substr(equals));
                continue;
            }
            resolved.push_back(part);
            if (equals == std::string::npos || name.empty()) continue;
            named.insert(name);
            if (std::ranges::find(dimensions.all, name) == dimensions.all.end())
                problems.push_back(unknown_dimension(name, dimensions));
        }
    }
    if (!problems.empty()) return fail(std::move(problems));
    for (const std::string& what : for_all) {
        for (const std::string& name : dimensions.open) {
            if (!named.contains(name)) resolved.push_back(name + what);
        }
    }
    return resolved;
}

}  // namespace heddle::cli
