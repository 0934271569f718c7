#include "cli/options.h"

namespace heddle::cli {

CLI::Validator in_range(int64_t least, int64_t most) { return CLI::Range(least, most).description(""); }
CLI::Validator positive() { return CLI::Validator(CLI::PositiveNumber).description(""); }
CLI::Validator not_negative() { return CLI::Validator(CLI::NonNegativeNumber).description(""); }

void check_words(CLI::Option& option, const std::vector<std::string>& words) {
    option.check(CLI::IsMember(words).description(""))->type_name(CLI::detail::join(words, "|"));
}

void add_repeated(CLI::App& command, const std::string& name, std::vector<std::string>& values, const std::string& text,
                  const std::string& type) {
    command.add_option(name, values, text)->type_name(type)->allow_extra_args(false);
}

void add_bindings(CLI::App& command, std::vector<std::string>& bindings) {
    add_repeated(command, "--bind", bindings, "Numbers for dimensions that are left open; '*=1' is all of them",
                 "batch=4,seq=128");
}

void add_rules(CLI::App& command, std::vector<std::string>& rules) {
    add_repeated(command, "--rule", rules,
                 "Rewrite the program by this rule first, to a fixed point (docs/rewrites.md); may be repeated. "
                 "NAME::* is all rules of the library NAME that need no parameters",
                 "'NAME(PARAMETER: VALUE)'");
}

void add_threads(CLI::App& command, int& threads) {
    command.add_option("--threads", threads, "How many threads compute (all cores)")
        ->type_name("N")
        ->check(in_range(1, 1024));
}

void add_cache_folder(CLI::App& command, CacheOptions& cache) {
    command.add_option("--cache-dir", cache.folder, "The folder that keeps compiled code (docs/cache.md)")
        ->type_name("DIR");
}

void add_cache(CLI::App& command, CacheOptions& cache) {
    add_cache_folder(command, cache);
    command.add_flag("--no-cache", cache.off, "Compile anew, and keep nothing");
}

void add_plugin(CLI::App& command, std::string& plugin) {
    command.add_option("--plugin", plugin, "A shared library with a backend, which runs it (docs/backends.md)")
        ->type_name("FILE");
}

void add_work(CLI::App& command, double& work) {
    command
        .add_option("--work", work, "How many scalar operations this may take (1e13); interpreted, a hundredth of it")
        ->type_name("NUMBER")
        ->check(positive());
}

void add_format(CLI::App& command, CommonOptions& options, const std::string& text) {
    auto* option = command.add_option_function<std::string>(
        "--format", [&](const std::string& format) { options.json = format == "json"; }, text);
    check_words(*option, {"text", "json"});
}

void add_common(CLI::App& command, CommonOptions& options) {
    add_format(command, options, "How to print the result, and what is wrong");
    add_repeated(command, "--library", options.libraries,
                 "A file or folder of your own operators (docs/language.md), whose namespace is NAME; may be repeated",
                 "[NAME=]PATH");
}

void add_inputs(CLI::App& command, std::vector<std::string>& inputs, int64_t& seed,
                std::vector<std::string>& bindings) {
    add_repeated(
        command, "--input", inputs,
        "A value for an input, from a .npy file or an ONNX .pb tensor; of a .npz all its arrays, by their names; "
        "may be repeated",
        "NAME=FILE|FILE.npz");
    command.add_option("--random", seed, "Make up the inputs that are not given, from this seed")->type_name("SEED");
    add_bindings(command, bindings);
}

void add_shards(CLI::App& command, ShardOptions& options) {
    add_repeated(command, "--shard", options.shards,
                 "Cut it over places: an axis and its parts, of one operation or of all that have it; a number of "
                 "places; or a file of `heddle optimise` (docs/machines.md)",
                 "[OP.]AXIS=N[,...]|N|FILE.json");
    auto* hosts = command.add_option("--hosts", options.hosts, "Places are processes at these addresses, one a line");
    hosts->type_name("FILE");
    command
        .add_option("--rank", options.rank,
                    "Which line of --hosts this process is, from 0 (else as srun or mpirun says)")
        ->type_name("N")
        ->needs(hosts);
    command
        .add_option("--machines", options.machines,
                    "Places are the processes of mpirun or srun, which are found without this, too")
        ->type_name("mpi|LIBRARY")
        ->excludes(hosts);
    command.add_option("--timeout", options.timeout, "How long to wait for a process that says nothing")
        ->type_name("SECONDS")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
}

CLI::Option* add_system(CLI::App& command, std::string& system, std::vector<std::string>& place) {
    auto* option = command.add_option("--system", system,
                                      "Place it on the devices of this target: a file, or a tag (docs/systems.md)");
    option->type_name("FILE|TAG");
    command
        .add_option("--place", place,
                    "A tensor or operation that lies or runs on this device, or in this memory of it; may be repeated")
        ->type_name("NAME=DEVICE[:SCOPE]")
        ->allow_extra_args(false)
        ->needs(option);
    return option;
}

void add_choices(CLI::App& command, std::vector<std::string>& choices) {
    add_repeated(command, "--choose", choices,
                 "A value inside of the program is stored, or each of its readers computes it, whatever costs say "
                 "(docs/equations.md); may be repeated",
                 "NAME=stored|inlined");
}

void add_running(CLI::App& command, RunOptions& options) {
    add_rules(command, options.rules);
    command.add_option("--output-dir", options.output_dir, "Write output_0.npy, output_1.npy ... there")
        ->type_name("DIR");
    command
        .add_option("--output", options.output,
                    "Write all outputs there, by name, as numpy.load reads them; or one to a .npy")
        ->type_name("FILE.npz|FILE.npy");
    add_threads(command, options.threads);
    add_work(command, options.work);
    add_cache(command, options.cache);
    auto* backend = command.add_option("--backend", options.backend,
                                       "cpu: compiled code; reference: the interpreter of typed bodies; or the name of "
                                       "the plugin's");
    backend->capture_default_str()->type_name("cpu|reference");
    add_plugin(command, options.plugin);
    command.callback([backend, &options] {
        const bool known = options.backend == "cpu" || options.backend == "reference";
        if (options.plugin.empty() && !known)
            throw CLI::ValidationError("--backend",
                                       options.backend + " is neither cpu nor reference, and there is no --plugin");
        if (!options.plugin.empty() && backend->count() == 0) options.backend.clear();
    });
    command.add_option("--repeat", options.repeat, "Run so often and report the times")
        ->type_name("N")
        ->check(in_range(1, 100000000));
    command
        .add_option(
            "--profile", options.profile,
            "Write the time of each launch there, as JSON: medians of some warm runs (as many as --repeat), with its "
            "operators, nodes and shapes")
        ->type_name("FILE");
    command.add_flag("--unfused", options.unfused, "One kernel for every equation, to compare with");
    add_choices(command, options.choices);
}

}  // namespace heddle::cli
