#include "cli/cli.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <functional>
#include <new>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/command_table.h"
#include "cli/commands.h"
#include "cli/schema.h"
#include "cli/support.h"
#include "cli/usage.h"

namespace heddle::cli {
namespace {

// A command as it is parsed, and what it does then.
struct Command {
    CLI::App* parser = nullptr;
    CommonOptions* common = nullptr;  // null: it has none
    std::function<int()> run;
};

// What a value must be, without a word in the help: the value's name says it.
CLI::Validator range(int64_t least, int64_t most) { return CLI::Range(least, most).description(""); }
CLI::Validator positive() { return CLI::Validator(CLI::PositiveNumber).description(""); }
CLI::Validator not_negative() { return CLI::Validator(CLI::NonNegativeNumber).description(""); }

// One of some words: "text|json".
void check_words(CLI::Option& option, const std::vector<std::string>& words) {
    option.check(CLI::IsMember(words).description(""))->type_name(CLI::detail::join(words, "|"));
}

// One value each time, so that what follows is the command's own.
void add_repeated(CLI::App& command, const std::string& name, std::vector<std::string>& values, const std::string& text,
                  const std::string& type) {
    command.add_option(name, values, text)->type_name(type)->allow_extra_args(false);
}

void add_bindings(CLI::App& command, std::vector<std::string>& bindings) {
    add_repeated(command, "--bind", bindings, "Numbers for dimensions that the model leaves open", "batch=4,seq=128");
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
        ->check(range(1, 1024));
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
    add_repeated(command, "--input", inputs,
                 "A value for an input, from a .npy file or an ONNX .pb tensor; may be repeated", "NAME=FILE");
    command.add_option("--random", seed, "Make up the inputs that are not given, from this seed")->type_name("SEED");
    add_bindings(command, bindings);
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

// What is done with a program that is loaded.
void add_running(CLI::App& command, RunOptions& options) {
    add_rules(command, options.rules);
    command.add_option("--output-dir", options.output_dir, "Write output_0.npy, output_1.npy ... there")
        ->type_name("DIR");
    command.add_option("--output", options.output, "Write all outputs there, by name, as numpy.load reads them")
        ->type_name("FILE.npz");
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
        ->check(range(1, 100000000));
    command.add_option("--profile", options.profile, "Write the time of each launch there, as JSON")->type_name("FILE");
    command.add_flag("--unfused", options.unfused, "One kernel for every equation, to compare with");
}

Command add_run(CLI::App& app, RunOptions& options) {
    auto* command = app.add_subcommand("run", "Compile a model, or a program of calls, and run it");
    command->add_option("model", options.model, "An ONNX model")->type_name("MODEL.onnx");
    command->add_option("--call", options.call, "Instead of a model: calls of operators; the last value is the output")
        ->type_name("'y = softmax(x, axis: 1)'");
    add_common(*command, options.common);
    add_inputs(*command, options.inputs, options.random_seed, options.bindings);
    add_running(*command, options);
    auto* system = add_system(*command, options.system, options.place);
    for (const char* other : {"--backend", "--plugin", "--profile", "--unfused"})
        system->excludes(command->get_option(other));
    command->add_flag("--placement", options.placement, "Say where each operation is placed and why, and the copies")
        ->needs(system);
    command->footer(
        "Examples:\n"
        "  heddle run model.onnx --random 1 --bind batch=4\n"
        "  heddle run model.onnx --input x=x.npy --output-dir out --repeat 100\n"
        "  heddle run model.onnx --random 1 --system two.json --place logits=c0 --placement\n"
        "  heddle run model.onnx --random 1 --library my_rules.yaml --rule 'my_rules::*'\n"
        "  heddle run --library my.yaml --call 'y = swish(x); z = add2(y, x)' --input x=x.npy\n");
    return {command, &options.common, [&] { return run_model(options); }};
}

Command add_check(CLI::App& app, CheckOptions& options) {
    auto* command = app.add_subcommand(
        "check", "Check files of templates, and models: everything that is wrong or unsupported, at once");
    command
        ->add_option("files", options.files,
                     "Template files (.yaml), models (.onnx), and texts of systems, kernels and plans (.txt)")
        ->required()
        ->type_name("FILE...");
    add_common(*command, options.common);
    command->footer("Example:\n  heddle check my.yaml model.onnx\n");
    return {command, &options.common, [&] { return check_files(options); }};
}

Command add_explain(CLI::App& app, ExplainOptions& options) {
    auto* command =
        app.add_subcommand("explain", "Show what an operator is for given inputs: shapes, index, projections, code");
    auto* name = command->add_option("operator", options.operator_name, "Its name")->type_name("OPERATOR");
    command->add_option("arguments", options.arguments, "Inputs as x=float32[2,3], parameters as axis=1")
        ->type_name("NAME=...");
    add_common(*command, options.common);
    command->add_flag("--notations", options.notations,
                      "Each projection in all notations that can express it, and as an augmented matrix");
    command->add_flag("--gradient", options.gradient,
                      "The derived operations from adjoints of outputs to those of inputs; what follows shows theirs");
    command->add_flag("--equations", options.equations,
                      "The equations before and after fusion, and why what was fused");
    command->add_flag("--schedule", options.schedule,
                      "What was chosen for each kernel, the plan, and the scheduled kernels");
    command->add_flag("--source", options.source, "The C code of the kernels");
    command->add_option("--target", options.target, "The machine to choose for: a tag, a file or JSON (this one)")
        ->type_name("TARGET");
    add_system(*command, options.system, options.place);
    auto* shards = command
                       ->add_option("--shard", options.shards,
                                    "Cut axes into parts: the work of each, what it touches, how it is combined")
                       ->type_name("AXIS=N,...")
                       ->allow_extra_args(false);
    command
        ->add_flag("--one-round", options.one_round,
                   "Sums of exp(x - m) by the maximum m of each shard, rescaled when they are combined")
        ->needs(shards);
    command->add_option("--svg", options.svg, "Where to draw all this; with --shard the shards' regions")
        ->type_name("FILE");
    command->add_flag("--kernels", options.kernels,
                      "Its rows of kernels: placements, types, flavours; without an operator, those of all");
    command->callback([name, &options] {
        if (name->empty() && !options.kernels) throw CLI::RequiredError("operator");
    });
    command->footer(
        "Examples:\n"
        "  heddle explain softmax 'x=float32[8, 1000]' axis=1 --equations --schedule\n"
        "  heddle explain reshape 'x=float32[batch=4, 6]' 'shape=[8, 3]'   (a named dimension, a known value)\n"
        "  heddle explain concat 'tensors=float32[2, 3]' 'tensors=float32[2, 5]' axis=1\n"
        "  heddle explain onnx:Conv 'X=float32[1, 3, 9, 9]' 'W=float32[8, 3, 3, 3]' --source\n"
        "  heddle explain matmul 'X=float32[4, 6]' 'W=float32[6, 5]' --shard in_row=2,k=3 --svg shards.svg\n"
        "  heddle explain conv 'X=float32[1, 3, 9, 9]' 'W=float32[8, 3, 3, 3]' --svg conv.svg\n"
        "  heddle explain softmax 'x=float32[8, 1000]' --gradient\n"
        "  heddle explain --kernels                                        (the kernel matrix, with coverage)\n"
        "Without arguments: the template alone.\n");
    return {command, &options.common, [&] { return explain_operator(options); }};
}

Command add_compare(CLI::App& app, CompareOptions& options) {
    auto* command =
        app.add_subcommand("compare", "Compare what a model's kernels compute with an independent computation");
    command->add_option("model", options.model, "An ONNX model")->required()->type_name("MODEL.onnx");
    command
        ->add_option("--with", options.with,
                     "reference: the interpreter, tensor by tensor; unfused: a plan without fusion; "
                     "DIR: expected outputs output_0.npy ...")
        ->required()
        ->type_name("reference|unfused|DIR");
    add_plugin(*command, options.plugin);
    add_common(*command, options.common);
    add_inputs(*command, options.inputs, options.random_seed, options.bindings);
    add_rules(*command, options.rules);
    add_threads(*command, options.threads);
    add_work(*command, options.work);
    add_cache(*command, options.cache);
    command->footer(
        "Examples:\n"
        "  heddle compare model.onnx --with reference --random 1 --bind batch=2\n"
        "  heddle compare model.onnx --with test_data_set_0       (input_0.pb ... and output_0.pb ... there)\n"
        "Exit status 1 if anything is outside of its bound.\n");
    return {command, &options.common, [&] { return compare_model(options); }};
}

Command add_graph(CLI::App& app, GraphOptions& options) {
    auto* command =
        app.add_subcommand("graph", "Draw, validate and exchange graphs: models, calls and graph documents");
    command->add_option("file", options.file, "An ONNX model, or a graph document")->type_name("MODEL.onnx|GRAPH.json");
    command->add_option("--call", options.call, "Instead of a file: calls of operators")
        ->type_name("'y = add([A, B])'");
    add_repeated(*command, "--input-type", options.input_types,
                 "The type, or the range, of an input of --call; repeated", "A=int32[10,10]|B=int32[200:210,50:60]");
    auto* validate = command->add_flag("--validate", options.validate,
                                       "Whether the parts fit together: everything that is wrong, at once");
    command
        ->add_option("--environment", options.environment, "What is legal, for --validate (heddle; loom for documents)")
        ->type_name("NAME|FILE")
        ->needs(validate);
    command->add_option("--json", options.json, "Where to write the graph as a document")->type_name("FILE");
    command->add_option("--svg", options.svg, "Where to write the picture")->type_name("FILE");
    add_common(*command, options.common);
    add_bindings(*command, options.bindings);
    add_rules(*command, options.rules);
    add_repeated(*command, "--input", options.inputs,
                 "The value of a model's input, where shapes or branches follow from it", "NAME=FILE");
    auto* fused =
        command->add_flag("--fused", options.fused, "Draw the launches after fusion, with the operations in each");
    command->add_flag("--profile", options.profile, "With the time of each launch, on given or made-up inputs")
        ->needs(fused);
    command->add_flag("--unfold", options.unfold,
                      "Draw what repeats as often as it is there, not once with its number");
    add_threads(*command, options.threads);
    add_cache(*command, options.cache);
    command->footer(
        "Examples:\n"
        "  heddle graph model.onnx --svg model.svg --bind batch=1\n"
        "  heddle graph model.onnx --svg launches.svg --fused --profile\n"
        "  heddle graph --call 'add([A, B])' --input-type 'A=int32[10,10]' --input-type 'B=int32[10,10]' \\\n"
        "      --validate --json sum.json\n"
        "  heddle graph sum.json --validate --environment loom --svg sum.svg      (docs/graphs.md)\n");
    return {command, &options.common, [&] { return show_graph(options); }};
}

// Options of `heddle run`, which takes what it differentiates as that does; `graph` draws it.
Command add_grad(CLI::App& app, GradOptions& options) {
    auto* command = app.add_subcommand(
        "grad", "Make the program of a model's gradient: run it, write it, draw it, explain it (docs/gradients.md)");
    RunOptions& run = options.run;
    GradientOptions& gradient = run.gradient.emplace();
    command->add_option("model", run.model, "An ONNX model")->type_name("MODEL.onnx");
    command->add_option("--call", run.call, "Instead of a model: calls of operators; the last value is the output")
        ->type_name("'y = softmax(x, axis: 1)'");
    add_repeated(*command, "--wrt", gradient.wrt,
                 "With respect to these inputs and weights, by names and patterns (all inputs of float types)",
                 "'NAME,PATTERN*'");
    command
        ->add_option("--loss", gradient.loss,
                     "What is differentiated: one number made of outputs, by calls of operators; new names are inputs. "
                     "Without it, an adjoint d_OUTPUT of each output is an input")
        ->type_name("'reduce_mean(y)'");
    command
        ->add_option(
            "--checkpoints", gradient.every,
            "Keep only the states of a scan before each N-th step (0: about the square root of the steps), and "
            "work out those between again")
        ->type_name("N")
        ->check(CLI::NonNegativeNumber.description(""));
    auto* list = command->add_flag("--list", options.list, "List what --wrt may name");
    add_common(*command, run.common);
    add_inputs(*command, run.inputs, run.random_seed, run.bindings);
    add_repeated(*command, "--input-type", gradient.input_types,
                 "The type of an input of --call or --loss that no file gives; repeated", "target=int64[8]");
    add_running(*command, run);
    command->add_option("--json", options.json, "Where to write the gradient as a graph document, without running it")
        ->type_name("FILE");
    auto* svg = command->add_option("--svg", options.svg, "Where to draw the gradient, without running it");
    svg->type_name("FILE");
    command->add_flag("--fused", options.fused, "Draw the launches after fusion, and the memory")->needs(svg);
    command->add_flag("--unfold", options.unfold, "Draw what repeats as often as it is there")->needs(svg);
    command->add_flag("--explain", options.explain, "Say what it consists of, what it costs, and its kernels")
        ->excludes(list)
        ->excludes(svg);
    command->add_flag("--equations", options.equations, "The same, with the equations before and after fusion");
    command->add_flag("--schedule", options.schedule, "The same, with what was chosen for each kernel, and the plan");
    command->add_flag("--source", options.source, "The same, with the C code of the kernels");
    command->footer(
        "Examples:\n"
        "  heddle grad model.onnx --list\n"
        "  heddle grad model.onnx --loss 'reduce_mean(y)' --random 1 --bind batch=4\n"
        "  heddle grad model.onnx --wrt 'decoder.*' --input x=x.npy --input target=target.npy \\\n"
        "      --loss 'nll_loss_joined(log_softmax(logits), target, mean: true)' --output slopes.npz\n"
        "  heddle grad model.onnx --wrt x,w --random 1      (from d_y, which is an input, to d_x and d_w)\n"
        "  heddle grad --call 'y = softmax(x)' --input x=x.npy --loss 'reduce_sum(mul(y, y))'\n"
        "  heddle grad model.onnx --loss 'reduce_mean(y)' --bind batch=4 --explain\n"
        "In --loss an output whose name is no word is output_0, output_1 ... Weights are those of the model\n"
        "where --input gives no others.\n");
    return {command, &run.common, [&] { return differentiate_model(options); }};
}

Command add_compile(CLI::App& app, CompileOptions& options) {
    auto* command = app.add_subcommand("compile",
                                       "Write a program that runs without Heddle: a library, an object or C "
                                       "(docs/compile.md), or a page (docs/webgpu.md)");
    auto* model = command->add_option("model", options.model, "An ONNX model");
    model->type_name("MODEL.onnx");
    auto* call = command->add_option("--call", options.call, "Instead of a model: calls of operators");
    call->type_name("'y = softmax(x, axis: 1)'")->excludes(model);
    add_repeated(*command, "--input-type", options.input_types, "The type of an input of --call; repeated",
                 "'x=float32[batch, 10]'");
    command->add_option("-o,--output-dir", options.folder, "The folder to write to")->required()->type_name("DIR");
    command->add_option("--name", options.name, "What the program's functions and files are called (the model's name)")
        ->type_name("NAME");
    add_repeated(*command, "--bind", options.bindings,
                 "Sizes of dimensions that the model leaves open: one, or all of a range that the program is to take",
                 "batch=4,seq=8:512:8");
    add_repeated(
        *command, "--target", options.targets,
        "The machine that it is for, as heddle targets names it, a file or native; repeated, and the first that "
        "runs is taken (x86-64-v4, then x86-64-v3); webgpu: a page, for one size",
        "TARGET");
    auto* system = add_system(*command, options.system, options.place);
    system->excludes(command->get_option("--target"));
    check_words(*command->add_option("--emit", options.emit, "What to write")->capture_default_str(),
                {"library", "object", "c"});
    check_words(
        *command->add_option("--weights", options.weights,
                             "Where weights lie: in it (but C of more than 16 MB of them), or in a file to be mapped"),
        {"inside", "beside"});
    for (const char* other : {"--emit", "--weights"}) system->excludes(command->get_option(other));
    command->add_option("--cc", options.compiler, "The C compiler that makes the part around the kernels, and links")
        ->capture_default_str()
        ->type_name("PROGRAM");
    add_repeated(*command, "--cc-flag", options.flags, "A flag for it; repeated", "FLAG");
    add_common(*command, options.common);
    add_rules(*command, options.rules);
    add_repeated(
        *command, "--input", options.inputs,
        "The value of a model's input that shapes or branches follow from: the program takes no other; of a page: "
        "one that it compares with",
        "NAME=FILE");
    command
        ->add_option("--random", options.random_seed,
                     "A page: make up the inputs that it compares with, from this seed")
        ->type_name("SEED");
    add_threads(*command, options.threads);
    add_work(*command, options.work);
    add_cache(*command, options.cache);
    command->callback([model, call] {
        if (model->empty() && call->empty()) throw CLI::RequiredError("model");
    });
    command->footer(
        "Examples:\n"
        "  heddle compile model.onnx -o out --bind batch=1:64\n"
        "  heddle compile model.onnx -o out --emit c --weights beside\n"
        "  heddle compile --call 'y = softmax(x)' --input-type 'x=float32[rows, 9]' --bind rows=1:256 -o out\n"
        "  heddle compile model.onnx -o out --system two.json --place logits=c0   (for several targets)\n"
        "  heddle compile model.onnx --target webgpu --random 1 -o page   (which compares with these)\n");
    return {command, &options.common, [&] { return compile_model(options); }};
}

Command add_verify(CLI::App& app, VerifyOptions& options) {
    auto* command =
        app.add_subcommand("verify", "Test rewrite rules on random instances; show where a wrong one fails");
    command
        ->add_option("files", options.files, "Files or folders with rules (docs/rewrites.md); none: the shipped ones")
        ->type_name("PATH...");
    add_repeated(*command, "--rule", options.rules, "Only the rule of this name; may be repeated", "NAME");
    command->add_option("--trials", options.trials, "Instances to compare of each rule")
        ->type_name("N")
        ->check(range(1, 1000000))
        ->capture_default_str();
    command->add_option("--seed", options.seed, "Another seed makes other instances")
        ->type_name("N")
        ->check(not_negative())
        ->capture_default_str();
    add_common(*command, options.common);
    command->footer(
        "Example:\n  heddle verify my_rules.yaml --trials 1000\n"
        "Exit status 1 if a rule is wrong: the smallest instance that shows it is printed.\n");
    return {command, &options.common, [&] { return verify_rules(options); }};
}

Command add_rewrite(CLI::App& app, RewriteOptions& options) {
    auto* command =
        app.add_subcommand("rewrite", "Apply rewrite rules to a program of calls; show it before and after");
    command->add_option("arguments", options.arguments, "The types of the program's inputs")->type_name("NAME=TYPE...");
    command->add_option("--call", options.call, "The program: calls of operators, as for heddle run")
        ->required()
        ->type_name("'y = linear(x, A, b)'");
    add_repeated(*command, "--rule", options.rules,
                 "A rule to apply, with its parameters; may be repeated (the first that fits is taken). "
                 "NAME::* is all rules of the library NAME that need no parameters; none: those of every --library",
                 "'NAME(PARAMETER: VALUE)'");
    command->add_option("--steps", options.steps, "At most so many steps (as long as a rule fits)")
        ->type_name("N")
        ->check(not_negative());
    add_common(*command, options.common);
    command->footer(
        "Examples:\n"
        "  heddle rewrite --call 'y = linear(x, A, b)' 'x=float32[8, 4]' 'A=float32[4, 3]' 'b=float32[3]' \\\n"
        "      --rule linear_to_matmul_add\n"
        "  heddle rewrite --call 'matmul(X, W)' 'X=int32[2, 9]' 'W=int32[9, 3]' --steps 1 \\\n"
        "      --rule 'split_inner(chunk: 4)'\n");
    return {command, &options.common, [&] { return rewrite_program(options); }};
}

Command add_conformance(CLI::App& app, ConformanceOptions& options) {
    auto* command = app.add_subcommand(
        "conformance", "Check a backend: its config, memory and launches; operators and gradients by the interpreter");
    command->add_option("--plugin", options.plugin, "The shared library with the backend (docs/backends.md)")
        ->required()
        ->type_name("FILE");
    add_repeated(*command, "--only", options.only, "Only the checks whose names begin so; may be repeated", "NAME");
    command->add_option("--seed", options.seed, "Another seed makes other shapes and values")
        ->type_name("N")
        ->check(not_negative())
        ->capture_default_str();
    add_threads(*command, options.threads);
    add_common(*command, options.common);
    command->footer(
        "Example:\n  heddle conformance --plugin libtoy.so\n"
        "Exit status 1 if a check fails.\n");
    return {command, &options.common, [&] { return check_conformance(options); }};
}

Command add_cache_command(CLI::App& app, CacheCommandOptions& options) {
    auto* command =
        app.add_subcommand("cache", "Show what earlier runs have compiled and kept; bound it, or remove it");
    add_cache_folder(*command, options.cache);
    command->add_flag("--list", options.list, "Each file: what it is, its size, when it was used last");
    command->add_option("--limit", options.limit, "From now on keep at most so much (1GB)")
        ->transform(CLI::AsSizeValue(true).description(""))
        ->type_name("SIZE");
    command->add_flag("--clear", options.clear, "Remove all of it");
    add_format(*command, options.common, "How to print the result, and what is wrong");
    command->footer("Examples:\n  heddle cache --list\n  heddle cache --limit 300MB\n  heddle cache --clear\n");
    return {command, &options.common, [&] { return show_cache(options); }};
}

Command add_targets(CLI::App& app, TargetsOptions& options) {
    auto* command = app.add_subcommand("targets", "List what code can be made for; describe one; show this machine");
    auto* target =
        command->add_option("target", options.target, "A tag, as aws/c5 or nvidia/jetson-nano:cuda; a file; JSON")
            ->type_name("TARGET");
    auto* host = command->add_flag("--host", options.host, "This machine, as runs choose for it")->excludes(target);
    command->add_flag("--measure", options.measure, "Measure its speeds anew, for later runs")->needs(host);
    auto* explain = command->add_flag("--explain", options.explain,
                                      "Each value with who says it, and what is assumed where nobody does");
    auto* ask = command->add_option("--ask", options.ask, "One value alone")->type_name("FIELD")->excludes(explain);
    command->add_option("--diff", options.diff, "The facts that differ from another target's")
        ->type_name("TARGET")
        ->excludes(explain)
        ->excludes(ask);
    add_cache(*command, options.cache);
    add_format(*command, options.common, "How to print the result, and what is wrong");
    command->callback([&options] {
        if (options.target.empty() && !options.host &&
            (options.explain || !options.ask.empty() || !options.diff.empty()))
            throw CLI::RequiredError("target");
    });
    command->footer(
        "Examples:\n"
        "  heddle targets\n"
        "  heddle targets nvidia/jetson-nano:cuda --explain\n"
        "  heddle targets aws/c5 --diff aws/c7g\n"
        "  heddle targets --host --measure\n"
        "More tags: *.json in folders of HEDDLE_TARGETS, else ~/.config/heddle/targets (docs/targets.md).\n");
    return {command, &options.common, [&] { return show_targets(options); }};
}

Command add_schema(CLI::App& app, bool& targets) {
    auto* command = app.add_subcommand("schema", "Print the JSON Schema of template files, for editors");
    command->add_flag("--targets", targets, "That of targets, and of files of tags (docs/targets.md)");
    command->footer("Example:\n  heddle schema > heddle.schema.json      (docs/language.md, Editors)\n");
    return {command, nullptr, [&] { return print_schema(targets); }};
}

Command add_completion(CLI::App& app, std::string& shell, const CommandTable& table) {
    auto* command = app.add_subcommand("completion", "Print the script that makes a shell complete all of this");
    auto* option = command->add_option("shell", shell, "Which one");
    option->required();
    check_words(*option, {"bash", "zsh"});
    command->footer(
        "Examples:\n"
        "  source <(heddle completion bash)      (in ~/.bashrc)\n"
        "  source <(heddle completion zsh)       (in ~/.zshrc, behind compinit)\n");
    return {command, nullptr, [&] {
                fmt::print("{}", completion_script(table, shell));
                return 0;
            }};
}

Command add_manual(CLI::App& app, const CommandTable& table) {
    auto* command = app.add_subcommand("manual", "Print the manual page: heddle manual | man -l -");
    return {command, nullptr, [&] {
                fmt::print("{}", manual_page(table));
                return 0;
            }};
}

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
    app.set_help_flag("-h,--help", "Print this help and exit");
    app.footer("'heddle COMMAND --help' tells more about a command.\n");
    CommonOptions common;
    bool version = false;
    app.add_flag("--version", version, "Print the version, its commit, LLVM's version and the target, and exit");
    add_format(app, common, "How to print the result of any command, and what is wrong");
    RunOptions run_options;
    CheckOptions check_options;
    ExplainOptions explain_options;
    CompareOptions compare_options;
    GraphOptions graph_options;
    GradOptions grad_options;
    CompileOptions compile_options;
    VerifyOptions verify_options;
    RewriteOptions rewrite_options;
    ConformanceOptions conformance_options;
    CacheCommandOptions cache_options;
    TargetsOptions targets_options;
    std::string shell;
    bool schema_of_targets = false;
    const std::vector<Command> commands = {
        add_run(app, run_options),          add_check(app, check_options),
        add_explain(app, explain_options),  add_compare(app, compare_options),
        add_graph(app, graph_options),      add_grad(app, grad_options),
        add_compile(app, compile_options),  add_verify(app, verify_options),
        add_rewrite(app, rewrite_options),  add_cache_command(app, cache_options),
        add_targets(app, targets_options),  add_conformance(app, conformance_options),
        add_schema(app, schema_of_targets), add_completion(app, shell, table), add_manual(app, table)};
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
