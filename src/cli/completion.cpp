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

}  // namespace

std::string words_kind_of(const OptionRow& option) {
    if (option.value == "OPERATOR") return "operators";
    if (option.value == "TARGET" || option.value == "FILE|TAG") return "targets";
    if (option.value == "NAME|FILE") return "environments";
    return option.names.back() == "--bind" ? "dimensions" : "";
}

namespace {

// ---- bash

// Words in double quotes: a choice's, and what heddle itself is asked for at that moment.
std::string bash_list(const OptionRow& option) {
    const std::string kind = words_kind_of(option);
    const std::string file = kind == "dimensions" ? " --of \"$model\"" : "";
    const std::string asked =
        kind.empty() ? "" : fmt::format("$(\"${{COMP_WORDS[0]}}\" completion --words {}{} 2>/dev/null)", kind, file);
    return fmt::format("\"{}{}{}\"", fmt::join(choices_of(option), " "),
                       asked.empty() || choices_of(option).empty() ? "" : " ", asked);
}

// The words that complete what stands behind `heddle COMMAND ... OPTION`; a `case` arm for each that takes a value.
std::string bash_values(const CommandRow& command) {
    std::string arms;
    for (const OptionRow& option : command.options) {
        if (option.value.empty() || option.positional) continue;
        for (const std::string& name : option.names)
            arms += fmt::format("        '{} {}') words={}; value=1 ;;\n", command.name, name, bash_list(option));
    }
    return arms;
}

// The words of a command where no value is due: its options, and what its arguments may be.
std::string bash_words(const CommandRow& command, const CommandTable& table) {
    std::vector<std::string> arguments;
    for (const OptionRow& option : command.options) {
        if (!option.positional) continue;
        for (std::string& choice : choices_of(option)) arguments.push_back(std::move(choice));
        if (const std::string kind = words_kind_of(option); !kind.empty())
            arguments.push_back(fmt::format("$(\"${{COMP_WORDS[0]}}\" completion --words {} 2>/dev/null)", kind));
    }
    for (const CommandRow& other : command.name.empty() ? table.commands : std::vector<CommandRow>())
        arguments.push_back(other.name);
    return fmt::format("        '{}') options='{}'; arguments=\"{}\" ;;\n", command.name,
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
    local command='' options='' arguments='' words='' value='' model='' word
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
    for word in "${{COMP_WORDS[@]}}"; do
        [[ $word == *.onnx ]] && model="$word"
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
    const std::string kind = words_kind_of(option);
    if (!kind.empty())
        return "{_alternative \"words\\:word\\:($(heddle completion --words " + kind +
               (kind == "dimensions" ? " --of ${(M)words:#*.onnx}" : "") +
               " 2>/dev/null))\" \"files\\:file\\:_files\"}";
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

// ---- fish

std::string fish_text(const std::string& text) {
    std::string result;
    for (const char c : text) result += c == '\'' || c == '\\' ? "\\" + std::string(1, c) : std::string(1, c);
    return result;
}

// What follows an option, or an argument's words.
std::string fish_values(const OptionRow& option) {
    std::vector<std::string> words = choices_of(option);
    const std::string kind = words_kind_of(option);
    if (kind == "dimensions")
        words.push_back(
            "(heddle completion --words dimensions --of (string match -- \"*.onnx\" (commandline -opc))[1])");
    else if (!kind.empty())
        words.push_back(fmt::format("(heddle completion --words {})", kind));
    return words.empty() ? "" : fmt::format(" -a '{}'", fish_text(fmt::format("{}", fmt::join(words, " "))));
}

std::string fish_script(const CommandTable& table) {
    std::string script =
        "# Completion of heddle's commands and options for fish; made by: heddle completion fish\n"
        "complete -c heddle -e\n";
    const auto add = [&](const CommandRow& command, const std::string& condition) {
        for (const OptionRow& option : command.options) {
            const std::string values = fish_values(option);
            if (option.positional) {
                if (!values.empty()) script += fmt::format("complete -c heddle -n '{}'{}\n", condition, values);
                continue;
            }
            std::string line = fmt::format("complete -c heddle -n '{}'", condition);
            for (const std::string& name : option.names)
                line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
            if (!option.value.empty()) line += takes_file(option) ? " -r" + values : " -x" + values;
            script += fmt::format("{} -d '{}'\n", line, fish_text(option.text));
        }
    };
    add(table.program, "__fish_use_subcommand");
    for (const CommandRow& command : table.commands) {
        script += fmt::format("complete -c heddle -f -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                              fish_text(command.text));
        add(command, "__fish_seen_subcommand_from " + command.name);
    }
    return script;
}

}  // namespace

std::string completion_script(const CommandTable& table, const std::string& shell) {
    if (shell == "fish") return fish_script(table);
    return shell == "zsh" ? zsh_script(table) : bash_script(table);
}

}  // namespace heddle::cli
