// Commands that print what editors, shells and man read: schema, completion, manual.
#include "cli/command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <fmt/format.h>

#include "cli/options.h"
#include "cli/schema.h"
#include "cli/usage.h"

namespace heddle::cli {
namespace {

Command add_schema(CLI::App& app) {
    auto targets = std::make_shared<bool>(false);
    auto* command = app.add_subcommand("schema", "Print the JSON Schema of template files, for editors");
    command->add_flag("--targets", *targets, "That of targets, and of files of tags (docs/targets.md)");
    command->footer("Example:\n  heddle schema > heddle.schema.json      (docs/language.md, Editors)\n");
    return {command, nullptr, [targets] { return print_schema(*targets); }};
}

Command add_completion(CLI::App& app) {
    auto shell = std::make_shared<std::string>();
    auto* command = app.add_subcommand("completion", "Print the script that makes a shell complete all of this");
    auto* option = command->add_option("shell", *shell, "Which one");
    option->required();
    check_words(*option, {"bash", "zsh"});
    command->footer(
        "Examples:\n"
        "  source <(heddle completion bash)      (in ~/.bashrc)\n"
        "  source <(heddle completion zsh)       (in ~/.zshrc, behind compinit)\n");
    return {command, nullptr, [shell, &app] {
                fmt::print("{}", completion_script(table_of(app), *shell));
                return 0;
            }};
}

Command add_manual(CLI::App& app) {
    auto* command = app.add_subcommand("manual", "Print the manual page: heddle manual | man -l -");
    return {command, nullptr, [&app] {
                fmt::print("{}", manual_page(table_of(app)));
                return 0;
            }};
}

}  // namespace

std::vector<Command> editor_commands(CLI::App& app) { return {add_schema(app), add_completion(app), add_manual(app)}; }

}  // namespace heddle::cli
