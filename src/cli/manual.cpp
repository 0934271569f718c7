// The manual page (man 1 heddle), made of the table of commands.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_table.h"
#include "inference/build_info.h"

namespace heddle::cli {
namespace {

// Text of troff's: no character is a command, and hyphens are those that are typed.
std::string troff(const std::string& text) {
    std::string result;
    for (const char c : text) {
        if (c == '\\') {
            result += "\\e";
        } else if (c == '-') {
            result += "\\-";
        } else if ((c == '.' || c == '\'') && (result.empty() || result.back() == '\n')) {
            result += "\\&";
            result += c;
        } else {
            result += c;
        }
    }
    return result;
}

std::string bold(const std::string& text) { return "\\fB" + troff(text) + "\\fR"; }
std::string italic(const std::string& text) { return text.empty() ? "" : "\\fI" + troff(text) + "\\fR"; }

std::string manual_entry(const OptionRow& option) {
    std::vector<std::string> names;
    for (const std::string& name : option.names) names.push_back(bold(name));
    std::string title = option.positional ? italic(option.value.empty() ? option.names[0] : option.value)
                                          : fmt::format("{}", fmt::join(names, ", "));
    if (!option.positional && !option.value.empty()) title += " " + italic(option.value);
    if (!option.default_value.empty()) title += troff("=" + option.default_value);
    if (option.repeated && !option.value.ends_with("...")) title += " ...";
    const bool required = option.required && !option.positional;
    return fmt::format(".TP\n{}\n{}{}\n", title, troff(option.text), required ? " (required)" : "");
}

std::string manual_section(const CommandRow& command) {
    std::string text = fmt::format(".SS {}\n{}\n", bold("heddle " + command.name), troff(command.text));
    for (const OptionRow& option : command.options) text += manual_entry(option);
    if (!command.examples.empty()) text += fmt::format(".PP\n.nf\n{}\n.fi\n", troff(command.examples));
    return text;
}

}  // namespace

std::string manual_page(const CommandTable& table) {
    std::string text = fmt::format(
        ".TH HEDDLE 1 \"\" \"heddle {}\" \"User Commands\"\n.SH NAME\nheddle \\- {}\n"
        ".SH SYNOPSIS\n.B heddle\n.I COMMAND\n[\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n{}\n.SH OPTIONS\n",
        inference::build_version, troff("tensor compiler in which an operator is a short text"),
        troff(table.program.text));
    for (const OptionRow& option : table.program.options) text += manual_entry(option);
    text += ".SH COMMANDS\n";
    for (const CommandRow& command : table.commands) text += manual_section(command);
    return text + fmt::format(
                      ".SH FILES\n.TP\n.I {}\nCompiled code that is kept for later runs\n"
                      ".TP\n.I {}\nOperators, environments and targets that come with the program\n",
                      troff("$XDG_CACHE_HOME/heddle, ~/.cache/heddle"), troff("PREFIX/share/heddle"));
}

}  // namespace heddle::cli
