#include "cli/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iterator>
#include <new>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/support.h"
#include "cli/usage.h"

namespace heddle::cli {
namespace {

void end_now(std::string_view text) {
    [[maybe_unused]] auto written = ::write(STDERR_FILENO, text.data(), text.size());
    ::_exit(128 + SIGINT);
}

}  // namespace

void end_when_interrupted() {
    // In place of a line that may stand there (progress_line.h).
    const bool terminal = ::isatty(STDERR_FILENO) != 0;
    std::signal(
        SIGINT, terminal ? [](int) { end_now("\r\x1b[Kheddle: interrupted\n"); }
                         : [](int) { end_now("heddle: interrupted\n"); });
}

int run(int count, char** arguments) {
    CLI::App app("Heddle: a tensor compiler in which an operator is a short text.");
    CommandTable table;
    app.formatter_fn(
        [&](const CLI::App* command, std::string, CLI::AppFormatMode) { return help_text(row_of(*command), table); });
    app.require_subcommand(0, 1);  // what follows is the command's own, whatever it is called
    app.set_help_flag("-h,--help", "Print this help and exit");
    app.footer("'heddle COMMAND --help' tells more about a command.\n");
    CommonOptions common;
    bool version = false;
    app.add_flag("-V,--version", version, "Print the version, its commit, LLVM's version and the target, and exit");
    add_format(app, common, "How to print the result of any command, and what is wrong");
    std::vector<Command> commands;
    for (const auto group : {program_commands, graph_commands, operator_commands, machine_commands, editor_commands})
        std::ranges::move(group(app), std::back_inserter(commands));
    table = table_of(app);
    const bool json = asks_for_json(count, arguments);
    try {
        app.parse(count, arguments);
    } catch (const CLI::CallForHelp& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& problem) {
        report({usage_problem(problem, app, table)}, {.json = json, .libraries = {}});
        return 2;
    }
    auto chosen = [&] {
        if (version) return print_version({.json = json, .libraries = {}});
        for (const Command& command : commands) {
            if (!command.parser->parsed()) continue;
            if (command.common) command.common->json = command.common->json || common.json;
            return command.run();
        }
        fmt::print("{}", app.help());
        return 0;
    };
    auto broken = [&](const char* code, std::string summary, std::string found, std::string remedy) {
        return report({{.code = code,
                        .summary = std::move(summary),
                        .place = {},
                        .found = std::move(found),
                        .remedy = std::move(remedy)}},
                      {.json = json, .libraries = {}});
    };
    try {
        const int status = chosen();
        if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category(), "cannot write");
        return status;
    } catch (const std::system_error& problem) {  // of fmt::print too
        std::fprintf(stderr, "standard output: %s\n", problem.what());
        return 1;
    } catch (const std::bad_alloc&) {
        return broken("cli.out_of_memory", "the system has not the memory that this needs", {},
                      "use smaller inputs, or a machine with more memory");
    } catch (const std::exception& problem) {
        return broken("cli.broken", "the program came to a state that it rules out", problem.what(),
                      "this is a mistake of the compiler, not yours: report it with what you ran");
    }
}

}  // namespace heddle::cli
