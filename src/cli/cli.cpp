#include "cli/cli.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <new>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/schema.h"
#include "cli/support.h"

namespace heddle::cli {
namespace {

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
    command.add_option("--threads", threads, "How many threads compute (all cores)")->check(CLI::Range(1, 1024));
}

void add_work(CLI::App& command, double& work) {
    command
        .add_option("--work", work, "How many scalar operations this may take (1e13); interpreted, a hundredth of it")
        ->type_name("NUMBER")
        ->check(CLI::PositiveNumber);
}

void add_common(CLI::App& command, CommonOptions& options) {
    command
        .add_option_function<std::string>(
            "--format", [&](const std::string& format) { options.json = format == "json"; }, "How to print the result")
        ->check(CLI::IsMember({"text", "json"}))
        ->type_name("text|json");
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

CLI::App* add_run(CLI::App& app, RunOptions& options) {
    auto* command = app.add_subcommand("run", "Compile a model, or a program of calls, and run it");
    command->add_option("model", options.model, "An ONNX model")->type_name("MODEL.onnx");
    command->add_option("--call", options.call, "Instead of a model: calls of operators; the last value is the output")
        ->type_name("'y = softmax(x, axis: 1)'");
    add_common(*command, options.common);
    add_inputs(*command, options.inputs, options.random_seed, options.bindings);
    add_rules(*command, options.rules);
    command->add_option("--output-dir", options.output_dir, "Write output_0.npy, output_1.npy ... there")
        ->type_name("DIR");
    add_threads(*command, options.threads);
    add_work(*command, options.work);
    command->add_option("--backend", options.backend, "cpu: compiled code; reference: the interpreter of typed bodies")
        ->check(CLI::IsMember({"cpu", "reference"}))
        ->capture_default_str();
    command->add_option("--repeat", options.repeat, "Run so often and report the times")
        ->check(CLI::Range(1, 100000000));
    command->add_option("--profile", options.profile, "Write the time of each launch there, as JSON")
        ->type_name("FILE");
    command->add_flag("--unfused", options.unfused, "One kernel for every equation, to compare with");
    command->footer(
        "Examples:\n"
        "  heddle run model.onnx --random 1 --bind batch=4\n"
        "  heddle run model.onnx --input x=x.npy --output-dir out --repeat 100\n"
        "  heddle run model.onnx --random 1 --library my_rules.yaml --rule 'my_rules::*'\n"
        "  heddle run --library my.yaml --call 'y = swish(x); z = add2(y, x)' --input x=x.npy\n");
    return command;
}

CLI::App* add_check(CLI::App& app, CheckOptions& options) {
    auto* command = app.add_subcommand(
        "check", "Check files of templates, and models: everything that is wrong or unsupported, at once");
    command->add_option("files", options.files, "Template files (.yaml), models (.onnx), and texts of systems, kernels and plans (.txt)")
        ->required()
        ->type_name("FILE...");
    add_common(*command, options.common);
    command->footer("Example:\n  heddle check my.yaml model.onnx\n");
    return command;
}

CLI::App* add_explain(CLI::App& app, ExplainOptions& options) {
    auto* command =
        app.add_subcommand("explain", "Show what an operator is for given inputs: shapes, index, projections, code");
    auto* name = command->add_option("operator", options.operator_name, "Its name");
    command->add_option("arguments", options.arguments, "Inputs as x=float32[2,3], parameters as axis=1")
        ->type_name("NAME=...");
    add_common(*command, options.common);
    command->add_flag("--gradient", options.gradient,
                      "The derived operations from adjoints of outputs to those of inputs; what follows shows theirs");
    command->add_flag("--equations", options.equations,
                      "The equations before and after fusion, and why what was fused");
    command->add_flag("--schedule", options.schedule,
                      "What was chosen for each kernel, the plan, and the scheduled kernels");
    command->add_flag("--source", options.source, "The C code of the kernels");
    command->add_option("--target", options.target, "The machine to choose for, as JSON (this one)")->type_name("FILE");
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
        "  heddle explain reshape 'x=float32[batch=4, 6]' 'shape=[8, 3]'      (a named dimension, a known value)\n"
        "  heddle explain concat 'tensors=float32[2, 3]' 'tensors=float32[2, 5]' axis=1\n"
        "  heddle explain onnx:Conv 'X=float32[1, 3, 9, 9]' 'W=float32[8, 3, 3, 3]' --source\n"
        "  heddle explain matmul 'X=float32[4, 6]' 'W=float32[6, 5]' --shard in_row=2,k=3 --svg shards.svg\n"
        "  heddle explain conv 'X=float32[1, 3, 9, 9]' 'W=float32[8, 3, 3, 3]' --svg conv.svg\n"
        "  heddle explain softmax 'x=float32[8, 1000]' --gradient\n"
        "  heddle explain --kernels                                           (the kernel matrix, with coverage)\n"
        "Without arguments: the template alone.\n");
    return command;
}

CLI::App* add_compare(CLI::App& app, CompareOptions& options) {
    auto* command =
        app.add_subcommand("compare", "Compare what a model's kernels compute with an independent computation");
    command->add_option("model", options.model, "An ONNX model")->required()->type_name("MODEL.onnx");
    command
        ->add_option("--with", options.with,
                     "reference: the interpreter, tensor by tensor; unfused: a plan without fusion; "
                     "DIR: expected outputs output_0.npy ...")
        ->required()
        ->type_name("reference|unfused|DIR");
    add_common(*command, options.common);
    add_inputs(*command, options.inputs, options.random_seed, options.bindings);
    add_rules(*command, options.rules);
    add_threads(*command, options.threads);
    add_work(*command, options.work);
    command->footer(
        "Examples:\n"
        "  heddle compare model.onnx --with reference --random 1 --bind batch=2\n"
        "  heddle compare model.onnx --with test_data_set_0       (input_0.pb ... and output_0.pb ... there)\n"
        "Exit status 1 if anything is outside of its bound.\n");
    return command;
}

CLI::App* add_graph(CLI::App& app, GraphOptions& options) {
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
    command->add_flag("--fused", options.fused, "Draw the kernels after fusion, with what each computes");
    command->footer(
        "Examples:\n"
        "  heddle graph model.onnx --svg model.svg --bind batch=1\n"
        "  heddle graph model.onnx --svg launches.svg --fused\n"
        "  heddle graph --call 'add([A, B])' --input-type 'A=int32[10,10]' --input-type 'B=int32[10,10]' \\\n"
        "      --validate --json sum.json\n"
        "  heddle graph sum.json --validate --environment loom --svg sum.svg      (docs/graphs.md)\n");
    return command;
}

CLI::App* add_verify(CLI::App& app, VerifyOptions& options) {
    auto* command =
        app.add_subcommand("verify", "Test rewrite rules on random instances; show where a wrong one fails");
    command
        ->add_option("files", options.files, "Files or folders with rules (docs/rewrites.md); none: the shipped ones")
        ->type_name("PATH...");
    add_repeated(*command, "--rule", options.rules, "Only the rule of this name; may be repeated", "NAME");
    command->add_option("--trials", options.trials, "Instances to compare of each rule")
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str();
    command->add_option("--seed", options.seed, "Another seed makes other instances")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    add_common(*command, options.common);
    command->footer(
        "Example:\n  heddle verify my_rules.yaml --trials 1000\n"
        "Exit status 1 if a rule is wrong: the smallest instance that shows it is printed.\n");
    return command;
}

CLI::App* add_rewrite(CLI::App& app, RewriteOptions& options) {
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
        ->check(CLI::NonNegativeNumber);
    add_common(*command, options.common);
    command->footer(
        "Examples:\n"
        "  heddle rewrite --call 'y = linear(x, A, b)' 'x=float32[8, 4]' 'A=float32[4, 3]' 'b=float32[3]' \\\n"
        "      --rule linear_to_matmul_add\n"
        "  heddle rewrite --call 'matmul(X, W)' 'X=int32[2, 9]' 'W=int32[9, 3]' --rule 'split_inner(chunk: 4)' --steps "
        "1\n");
    return command;
}

CLI::App* add_schema(CLI::App& app) {
    auto* command = app.add_subcommand("schema", "Print the JSON Schema of template files, for editors");
    command->footer("Example:\n  heddle schema > heddle.schema.json      (docs/language.md, Editors)\n");
    return command;
}

}  // namespace

void end_when_interrupted() {
    std::signal(SIGINT, [](int) {
        constexpr std::string_view text = "heddle: interrupted\n";
        [[maybe_unused]] auto written = ::write(STDERR_FILENO, text.data(), text.size());
        ::_exit(128 + SIGINT);
    });
}

int run(int count, char** arguments) {
    CLI::App app("Heddle: a tensor compiler in which an operator is a short text.");
    app.require_subcommand(1);
    app.footer("'heddle COMMAND --help' tells more about a command.");
    RunOptions run_options;
    CheckOptions check_options;
    ExplainOptions explain_options;
    CompareOptions compare_options;
    GraphOptions graph_options;
    VerifyOptions verify_options;
    RewriteOptions rewrite_options;
    auto* run = add_run(app, run_options);
    auto* check = add_check(app, check_options);
    auto* explain = add_explain(app, explain_options);
    auto* compare = add_compare(app, compare_options);
    auto* graph = add_graph(app, graph_options);
    auto* verify = add_verify(app, verify_options);
    auto* rewrite = add_rewrite(app, rewrite_options);
    auto* schema = add_schema(app);
    try {
        app.parse(count, arguments);
    } catch (const CLI::ParseError& problem) {
        // The library's own status numbers say which check failed; a shell only needs to know that one did.
        return app.exit(problem) == 0 ? 0 : 2;
    }
    auto chosen = [&] {
        if (run->parsed()) return run_model(run_options);
        if (check->parsed()) return check_files(check_options);
        if (explain->parsed()) return explain_operator(explain_options);
        if (compare->parsed()) return compare_model(compare_options);
        if (graph->parsed()) return show_graph(graph_options);
        if (verify->parsed()) return verify_rules(verify_options);
        if (rewrite->parsed()) return rewrite_program(rewrite_options);
        if (schema->parsed()) return print_schema();
        return 2;
    };
    auto broken = [&](const char* code, std::string summary, std::string found, std::string remedy) {
        CommonOptions common;
        for (const CommonOptions* options :
             {&run_options.common, &check_options.common, &explain_options.common, &compare_options.common,
              &graph_options.common, &verify_options.common, &rewrite_options.common}) {
            common.json = common.json || options->json;
        }
        return report({{.code = code,
                        .summary = std::move(summary),
                        .place = {},
                        .found = std::move(found),
                        .remedy = std::move(remedy)}},
                      common);
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
