// A command as it is parsed, and what it does then. One file a group of commands makes them.
#pragma once

#include <functional>
#include <vector>

#include "cli/commands.h"

namespace CLI {
class App;
}  // namespace CLI

namespace heddle::cli {

struct Command {
    CLI::App* parser = nullptr;
    CommonOptions* common = nullptr;  // null: it has none
    std::function<int()> run;         // owns the options that the parser fills
};

std::vector<Command> program_commands(CLI::App& app);
std::vector<Command> operator_commands(CLI::App& app);
std::vector<Command> graph_commands(CLI::App& app);
std::vector<Command> machine_commands(CLI::App& app);
std::vector<Command> editor_commands(CLI::App& app);

}  // namespace heddle::cli
