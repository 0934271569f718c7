// The table of commands as they are parsed, and what is said of wrong command lines.
#pragma once

#include "cli/command_table.h"
#include "support/diagnostic.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace heddle::cli {

CommandRow row_of(const CLI::App& app);
CommandTable table_of(const CLI::App& app);

// Whether there is `--format json`, however wrong the rest is.
bool asks_for_json(int count, char** arguments);

// Code cli.unknown_command, with the nearest one.
Diagnostic unknown_command(const std::string& word, const CommandTable& table);

// Codes: cli.unknown_command, cli.unknown_option, cli.usage.
Diagnostic usage_problem(const CLI::ParseError& problem, const CLI::App& app, const CommandTable& table);

}  // namespace heddle::cli
