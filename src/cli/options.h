// Options that several commands have, said in one place each.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/commands.h"

namespace heddle::cli {

// What a value must be, without a word in the help: the value's name says it.
CLI::Validator in_range(int64_t least, int64_t most);
CLI::Validator positive();
CLI::Validator not_negative();

// One of some words: "text|json".
void check_words(CLI::Option& option, const std::vector<std::string>& words);

// One value each time, so that what follows is the command's own.
void add_repeated(CLI::App& command, const std::string& name, std::vector<std::string>& values, const std::string& text,
                  const std::string& type);

void add_bindings(CLI::App& command, std::vector<std::string>& bindings);
void add_rules(CLI::App& command, std::vector<std::string>& rules);
void add_threads(CLI::App& command, int& threads);
void add_cache_folder(CLI::App& command, CacheOptions& cache);
void add_cache(CLI::App& command, CacheOptions& cache);
void add_plugin(CLI::App& command, std::string& plugin);
void add_work(CLI::App& command, double& work);
void add_format(CLI::App& command, CommonOptions& options, const std::string& text);
void add_common(CLI::App& command, CommonOptions& options);
void add_inputs(CLI::App& command, std::vector<std::string>& inputs, int64_t& seed, std::vector<std::string>& bindings);
void add_shards(CLI::App& command, ShardOptions& options);
CLI::Option* add_system(CLI::App& command, std::string& system, std::vector<std::string>& place);
// What becomes of values inside of a program, against what costs say.
void add_choices(CLI::App& command, std::vector<std::string>& choices);
// What is done with a program that is loaded.
void add_running(CLI::App& command, RunOptions& options);

}  // namespace heddle::cli
