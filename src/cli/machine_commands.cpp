// Commands about machines and what is kept on them: targets, cache, conformance.
#include "cli/command.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "target/system.h"

namespace heddle::cli {
namespace {

Command add_targets(CLI::App& app) {
    auto options = std::make_shared<TargetsOptions>();
    auto* command =
        app.add_subcommand("targets", "List targets, and what can be made for each; describe one; show this machine");
    auto* target = command
                       ->add_option("target", options->target,
                                    "A tag, as aws/c5 or nvidia/jetson-nano:cuda; a file; JSON; or a word to look for")
                       ->type_name("TARGET");
    auto* host = command->add_flag("--host", options->host, "This machine, as runs choose for it")->excludes(target);
    command->add_flag("--measure", options->measure, "Measure its speeds anew, for later runs")->needs(host);
    auto* explain = command->add_flag("--explain", options->explain,
                                      "Each value with who says it, and what is assumed where nobody does");
    auto* ask = command->add_option("--ask", options->ask, "One value alone")->type_name("FIELD")->excludes(explain);
    command->add_option("--diff", options->diff, "The facts that differ from another target's")
        ->type_name("TARGET")
        ->excludes(explain)
        ->excludes(ask);
    auto* places = command
                       ->add_flag("--places", options->places,
                                  "The places that a program over several processes has there, and the links between")
                       ->excludes(explain)
                       ->excludes(ask)
                       ->excludes("--diff");
    command->add_option("--place-kind", options->place_kind, "Only devices of this kind are places: cpu, cuda ...")
        ->type_name("KIND")
        ->needs(places);
    command->add_option("--processes", options->processes, "The target as a cluster of so many processes that share it")
        ->check(in_range(1, most_machines))
        ->type_name("N");
    add_cache(*command, options->cache);
    add_format(*command, options->common, "How to print the result, and what is wrong");
    command->callback([options] {
        if (options->target.empty() && !options->host &&
            (options->explain || !options->ask.empty() || !options->diff.empty() || options->places ||
             options->processes > 0))
            throw CLI::RequiredError("target");
    });
    command->footer(
        "Examples:\n"
        "  heddle targets\n"
        "  heddle targets raspberry\n"
        "  heddle targets nvidia/jetson-nano:cuda --explain\n"
        "  heddle targets aws/c5 --diff aws/c7g\n"
        "  heddle targets --host --measure\n"
        "  heddle targets nvidia/superpod-h100 --places\n"
        "  heddle targets --host --processes 4 --places\n"
        "More tags: *.json in folders of HEDDLE_TARGETS, else ~/.config/heddle/targets (docs/targets.md).\n");
    return {command, &options->common, [options] { return show_targets(*options); }};
}

Command add_cache_command(CLI::App& app) {
    auto options = std::make_shared<CacheCommandOptions>();
    auto* command =
        app.add_subcommand("cache", "Show what earlier runs have compiled and kept; bound it, or remove it");
    add_cache_folder(*command, options->cache);
    command->add_flag("--list", options->list, "Each file: what it is, its size, when it was used last");
    command->add_option("--limit", options->limit, "From now on keep at most so much (1GB)")
        ->transform(CLI::AsSizeValue(true).description(""))
        ->type_name("SIZE");
    command->add_flag("--clear", options->clear, "Remove all of it");
    add_format(*command, options->common, "How to print the result, and what is wrong");
    command->footer("Examples:\n  heddle cache --list\n  heddle cache --limit 300MB\n  heddle cache --clear\n");
    return {command, &options->common, [options] { return show_cache(*options); }};
}

Command add_conformance(CLI::App& app) {
    auto options = std::make_shared<ConformanceOptions>();
    auto* command = app.add_subcommand(
        "conformance", "Check a backend: its config, memory and launches; operators and gradients by the interpreter");
    command->add_option("--plugin", options->plugin, "The shared library with the backend (docs/backends.md)")
        ->required()
        ->type_name("FILE");
    add_repeated(*command, "--only", options->only, "Only the checks whose names begin so; may be repeated", "NAME");
    command->add_option("--seed", options->seed, "Another seed makes other shapes and values")
        ->type_name("N")
        ->check(not_negative())
        ->capture_default_str();
    add_threads(*command, options->threads);
    add_common(*command, options->common);
    command->footer(
        "Example:\n  heddle conformance --plugin libtoy.so\n"
        "Exit status 1 if a check fails.\n");
    return {command, &options->common, [options] { return check_conformance(*options); }};
}

}  // namespace

std::vector<Command> machine_commands(CLI::App& app) {
    return {add_targets(app), add_cache_command(app), add_conformance(app)};
}

}  // namespace heddle::cli
