// Commands that print what editors, shells and man read: schema, completion, manual, version, help.
#include "cli/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <fmt/format.h>

#include "cli/options.h"
#include "cli/schema.h"
#include "cli/support.h"
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
    struct Asked {
        std::string shell, words, file;
    };
    auto asked = std::make_shared<Asked>();
    auto* command = app.add_subcommand("completion", "Print the script that makes a shell complete all of this");
    auto* shell = command->add_option("shell", asked->shell, "Which one");
    check_words(*shell, {"bash", "zsh", "fish"});
    auto* words = command->add_option("--words", asked->words, "What such a script asks for: words, one a line");
    check_words(*words, {"operators", "targets", "environments", "dimensions"});
    words->excludes(shell);
    command->add_option("--of", asked->file, "The model whose dimensions these are")
        ->type_name("MODEL.onnx")
        ->needs(words);
    command->callback([shell, words] {
        if (shell->empty() && words->empty()) throw CLI::RequiredError("shell (bash, zsh or fish)");
    });
    command->footer(
        "Examples:\n"
        "  source <(heddle completion bash)      (in ~/.bashrc)\n"
        "  source <(heddle completion zsh)       (in ~/.zshrc, behind compinit)\n"
        "  heddle completion fish | source       (in ~/.config/fish/config.fish)\n");
    return {command, nullptr, [asked, &app] {
                if (asked->words.empty()) fmt::print("{}", completion_script(table_of(app), asked->shell));
                if (asked->words.empty()) return 0;
                for (const std::string& word : completion_words(asked->words, asked->file)) fmt::print("{}\n", word);
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

Command add_version(CLI::App& app) {
    auto options = std::make_shared<CommonOptions>();
    auto* command = app.add_subcommand("version", "Print the version, its commit, LLVM's version and the target");
    add_format(*command, *options, "How to print it");
    return {command, options.get(), [options] { return print_version(*options); }};
}

Command add_help(CLI::App& app) {
    auto name = std::make_shared<std::string>();
    auto* command = app.add_subcommand("help", "Print what a command is for and takes, or which there are");
    command->add_option("command", *name, "Of which")->type_name("COMMAND");
    return {command, nullptr, [name, &app] {
                const CommandTable table = table_of(app);
                const auto found = std::ranges::find(table.commands, *name, &CommandRow::name);
                if (!name->empty() && found == table.commands.end())
                    return report({unknown_command(*name, table)}, {.json = false, .libraries = {}});
                fmt::print("{}", help_text(name->empty() ? table.program : *found, table));
                return 0;
            }};
}

}  // namespace

std::vector<Command> editor_commands(CLI::App& app) {
    return {add_schema(app), add_completion(app), add_manual(app), add_version(app), add_help(app)};
}

}  // namespace heddle::cli
