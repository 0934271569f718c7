// Scripts for shells, made of the table of commands.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_table.h"

namespace heddle::cli {
namespace {

std::vector<std::string> option_names(const CommandRow& command) {
    std::vector<std::string> names;
    for (const OptionRow& option : command.options) {
        if (!option.positional) names.insert(names.end(), option.names.begin(), option.names.end());
    }
    return names;
}

// ---- bash

// The words that complete what stands behind `heddle COMMAND ... OPTION`; a `case` arm for each that takes a value.
std::string bash_values(const CommandRow& command) {
    std::string arms;
    for (const OptionRow& option : command.options) {
        if (option.value.empty() || option.positional) continue;
        for (const std::string& name : option.names)
            arms += fmt::format("        '{} {}') words='{}'; value=1 ;;\n", command.name, name,
                                fmt::join(choices_of(option), " "));
    }
    return arms;
}

// The words of a command where no value is due: its options, and what its arguments may be.
std::string bash_words(const CommandRow& command, const CommandTable& table) {
    std::vector<std::string> arguments;
    for (const OptionRow& option : command.options) {
        if (!option.positional) continue;
        for (std::string& choice : choices_of(option)) arguments.push_back(std::move(choice));
    }
    for (const CommandRow& other : command.name.empty() ? table.commands : std::vector<CommandRow>())
        arguments.push_back(other.name);
    return fmt::format("        '{}') options='{}'; arguments='{}' ;;\n", command.name,
                       fmt::join(option_names(command), " "), fmt::join(arguments, " "));
}

std::string bash_script(const CommandTable& table) {
    std::vector<std::string> commands;
    std::string words = bash_words(table.program, table), values = bash_values(table.program);
    for (const CommandRow& command : table.commands) {
        commands.push_back(command.name);
        words += bash_words(command, table);
        values += bash_values(command);
    }
    return fmt::format(R"(# Completion of heddle's commands and options for bash; made by: heddle completion bash
_heddle() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
    local command='' options='' arguments='' words='' value='' word
    # bash takes --option=value for three words.
    if [[ $current == '=' ]]; then
        current=''
    elif [[ $previous == '=' ]]; then
        previous="${{COMP_WORDS[COMP_CWORD-2]}}"
    fi
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$word" in
        {}) command="$word"; break ;;
        esac
    done
    case "$command" in
{}    esac
    case "$command $previous" in
{}    esac
    if [[ -z $value ]]; then
        words="$arguments"
        [[ $current == -* ]] && words="$options"
    fi
    # Where nothing fits, readline completes names of files.
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -o bashdefault -F _heddle heddle
)",
                       fmt::join(commands, "|"), words, values);
}

// ---- zsh

// A text inside of single quotes, in an argument of _arguments.
std::string zsh_text(const std::string& text) {
    std::string result;
    for (char c : text) {
        if (c == '\'') {
            result += "'\\''";
            continue;
        }
        if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
        result += c;
    }
    return result;
}

std::string zsh_action(const OptionRow& option) {
    const auto choices = choices_of(option);
    const std::string words = choices.empty() ? "" : fmt::format("({})", fmt::join(choices, " "));
    if (!takes_file(option)) return words;
    return words.empty() ? "_files" : "{_alternative \"words\\:word\\:" + words + "\" \"files\\:file\\:_files\"}";
}

std::string zsh_specification(const OptionRow& option) {
    const std::string value = zsh_text(option.value.empty() ? option.names[0] : option.value);
    if (option.positional)
        return fmt::format("        '{}:{}:{}'", option.repeated ? "*" : "", value, zsh_action(option));
    const std::string behind = option.value.empty() ? "" : fmt::format(":{}:{}", value, zsh_action(option));
    std::string lines;
    for (const std::string& name : option.names)
        lines += fmt::format("{}        '{}{}[{}]{}'", lines.empty() ? "" : " \\\n", option.repeated ? "*" : "", name,
                             zsh_text(option.text), behind);
    return lines;
}

std::string zsh_arguments(const CommandRow& command) {
    std::vector<std::string> lines;
    for (const OptionRow& option : command.options) lines.push_back(zsh_specification(option));
    return fmt::format("{}", fmt::join(lines, " \\\n"));
}

std::string zsh_script(const CommandTable& table) {
    std::string descriptions, arms;
    for (const CommandRow& command : table.commands) {
        descriptions += fmt::format("        '{}:{}'\n", command.name, zsh_text(command.text));
        arms += fmt::format("    {})\n        _arguments \\\n{}\n        ;;\n", command.name, zsh_arguments(command));
    }
    return fmt::format(R"(#compdef heddle
# Completion of heddle's commands and options for zsh; made by: heddle completion zsh
_heddle() {{
    local state
    local -a commands
    commands=(
{}    )
    _arguments -C \
{} \
        '1:command:->command' \
        '*::argument:->argument'
    case $state in
    command) _describe command commands; return ;;
    argument) ;;
    *) return ;;
    esac
    case $words[1] in
{}    esac
}}
compdef _heddle heddle
)",
                       descriptions, zsh_arguments(table.program), arms);
}

}  // namespace

std::string completion_script(const CommandTable& table, const std::string& shell) {
    return shell == "zsh" ? zsh_script(table) : bash_script(table);
}

}  // namespace heddle::cli
