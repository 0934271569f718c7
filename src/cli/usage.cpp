#include "cli/usage.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace heddle::cli {
namespace {

OptionRow row_of(const CLI::Option& option) {
    OptionRow row{.positional = option.get_positional(), .required = option.get_required()};
    for (const std::string& name : option.get_snames()) row.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) row.names.push_back("--" + name);
    if (row.positional) row.names = {option.get_name(true, false)};
    row.repeated = option.get_expected_max() == CLI::detail::expected_max_vector_size ||
                   (option.get_type_size() != 0 && option.get_allow_extra_args());
    if (option.get_type_size() != 0) row.value = option.get_type_name();
    row.default_value = option.get_default_str();
    row.text = option.get_description();
    return row;
}

}  // namespace

CommandRow row_of(const CLI::App& app) {
    CommandRow row{
        .name = app.get_parent() ? app.get_name() : "", .text = app.get_description(), .examples = app.get_footer()};
    for (const bool positional : {true, false}) {
        for (const CLI::Option* option : app.get_options()) {
            if (option->get_positional() == positional) row.options.push_back(row_of(*option));
        }
    }
    return row;
}

CommandTable table_of(const CLI::App& app) {
    CommandTable table{.program = row_of(app)};
    for (const CLI::App* command : app.get_subcommands({})) table.commands.push_back(row_of(*command));
    return table;
}

bool asks_for_json(int count, char** arguments) {
    for (int i = 1; i < count; i++) {
        const std::string_view word = arguments[i];
        if (word == "--format=json") return true;
        if (word == "--format" && i + 1 < count && std::string_view(arguments[i + 1]) == "json") return true;
    }
    return false;
}

namespace {

// "did you mean --format? heddle run --help lists all"
std::string usage_remedy(const std::string& near, const std::string& command, const char* lists) {
    return fmt::format("{}{} --help lists {}", near.empty() ? "" : fmt::format("did you mean {}? ", near), command,
                       lists);
}

Diagnostic unknown_option(const std::string& word, const std::string& command, const CommandRow& row) {
    const std::string name = word.substr(0, word.find('='));
    std::vector<std::string> known;
    for (const OptionRow& option : row.options) {
        if (!option.positional) known.insert(known.end(), option.names.begin(), option.names.end());
    }
    return {.code = "cli.unknown_option",
            .summary = fmt::format("{} has no option '{}'", command, name),
            .remedy = usage_remedy(nearest_name(name, known), command, "its options"),
            .params = {{"option", name}}};
}

// Of a value that is no number: "Could not convert: --random = abc" is the parser's.
std::optional<Diagnostic> wrong_number(const std::string& problem, const std::string& name, const CommandRow& row) {
    constexpr std::string_view begin = "Could not convert: ";
    const size_t equals = problem.find(" = ");
    if (!problem.starts_with(begin) || equals == std::string::npos) return std::nullopt;
    const std::string option = problem.substr(begin.size(), equals - begin.size()), value = problem.substr(equals + 3);
    const auto is_it = [&](const OptionRow& known) {
        return std::ranges::find(known.names, option) != known.names.end();
    };
    const auto known = std::ranges::find_if(row.options, is_it);
    return Diagnostic{.code = "cli.usage",
                      .summary = fmt::format("{} takes no '{}'", option, value),
                      .expected = fmt::format("a number{}", known == row.options.end() || known->value.empty()
                                                                ? ""
                                                                : fmt::format(": {} {}", option, known->value)),
                      .found = value,
                      .remedy = usage_remedy("", name, "what it takes"),
                      .params = {{"option", option}}};
}

}  // namespace

Diagnostic unknown_command(const std::string& word, const CommandTable& table) {
    std::vector<std::string> known;
    for (const CommandRow& row : table.commands) known.push_back(row.name);
    return {.code = "cli.unknown_command",
            .summary = fmt::format("heddle has no command '{}'", word),
            .remedy = usage_remedy(nearest_name(word, known), "heddle", "the commands"),
            .params = {{"command", word}}};
}

// What nobody takes comes first: what is missing is mostly what was meant by it.
Diagnostic usage_problem(const CLI::ParseError& problem, const CLI::App& app, const CommandTable& table) {
    const auto chosen = app.get_subcommands();
    const CLI::App& command = chosen.empty() ? app : *chosen.back();
    const std::string name = chosen.empty() ? "heddle" : "heddle " + command.get_name();
    const auto extras = command.remaining(true);
    const auto option = std::ranges::find_if(extras, [](const std::string& word) { return word.starts_with("-"); });
    if (option != extras.end()) return unknown_option(*option, name, row_of(command));
    if (!extras.empty() && chosen.empty()) return unknown_command(extras[0], table);
    if (!extras.empty())
        return {.code = "cli.usage",
                .summary = fmt::format("{} does not take '{}'", name, extras[0]),
                .remedy = usage_remedy("", name, "what it takes")};
    std::string summary = problem.what();
    while (!summary.empty() && (summary.back() == '.' || summary.back() == '\n')) summary.pop_back();
    if (auto wrong = wrong_number(summary, name, row_of(command))) return std::move(*wrong);
    return {.code = "cli.usage", .summary = std::move(summary), .remedy = usage_remedy("", name, "what it takes")};
}

}  // namespace heddle::cli
