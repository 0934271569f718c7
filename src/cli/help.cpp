// What --help prints of a command.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_table.h"
#include "support/text_width.h"

namespace heddle::cli {
namespace {

constexpr size_t text_column = 28;

// "  --bind batch=4,seq=128 ...  Numbers for dimensions", or the text on lines of its own below a long name.
std::string entry(const std::string& name, const std::string& text) {
    const std::string begin = "  " + name;
    const std::string filled_text = filled(text, help_width, text_column);
    if (text.empty()) return begin + "\n";
    const bool fits = begin.size() + 2 <= text_column;
    return begin + (fits ? std::string(text_column - begin.size(), ' ') : "\n" + std::string(text_column, ' ')) +
           filled_text + "\n";
}

std::string argument_name(const OptionRow& option) { return option.value.empty() ? option.names[0] : option.value; }

std::string option_entry(const OptionRow& option) {
    std::string name = option.positional ? argument_name(option) : fmt::format("{}", fmt::join(option.names, ", "));
    if (!option.positional && !option.value.empty()) name += " " + option.value;
    if (!option.default_value.empty()) name += "=" + option.default_value;
    if (option.repeated && !name.ends_with("...")) name += " ...";
    return entry(name, option.text + (option.required && !option.positional ? " (required)" : ""));
}

std::string usage(const CommandRow& command, bool has_commands) {
    std::string text = "Usage: heddle" + (command.name.empty() ? "" : " " + command.name) + " [OPTIONS]";
    for (const OptionRow& option : command.options) {
        if (!option.positional) continue;
        const std::string name = argument_name(option);
        text += " " + (option.required ? name : "[" + name + "]");
    }
    return text + (has_commands ? " COMMAND ..." : "") + "\n";
}

}  // namespace

std::string help_text(const CommandRow& command, const CommandTable& table) {
    const bool is_program = command.name.empty();
    std::string text = filled(command.text, help_width, 0) + "\n\n" + usage(command, is_program);
    for (const bool positional : {true, false}) {
        std::string entries;
        for (const OptionRow& option : command.options) {
            if (option.positional == positional) entries += option_entry(option);
        }
        if (!entries.empty()) text += (positional ? "\nArguments:\n" : "\nOptions:\n") + entries;
    }
    if (is_program) text += "\nCommands:\n";
    for (const CommandRow& other : is_program ? table.commands : std::vector<CommandRow>())
        text += entry(other.name, other.text);
    return command.examples.empty() ? text : text + "\n" + command.examples;
}

std::vector<std::string> choices_of(const OptionRow& option) {
    std::vector<std::string> choices;
    const std::string& value = option.value;
    for (size_t begin = 0; value.find('|') != std::string::npos && begin <= value.size();) {
        const size_t end = std::min(value.find('|', begin), value.size());
        const std::string word = value.substr(begin, end - begin);
        const bool is_word = !word.empty() && std::ranges::all_of(word, [](char c) { return c >= 'a' && c <= 'z'; });
        if (is_word) choices.push_back(word);
        begin = end + 1;
    }
    return choices;
}

bool takes_file(const OptionRow& option) {
    for (const char* part : {"FILE", "DIR", "PATH", ".onnx", ".json"}) {
        if (option.value.find(part) != std::string::npos) return true;
    }
    return false;
}

}  // namespace heddle::cli
