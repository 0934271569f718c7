// Commands about operators and rules: check, explain, verify, rewrite.
#include "cli/command.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"

namespace heddle::cli {
namespace {

Command add_check(CLI::App& app) {
    auto options = std::make_shared<CheckOptions>();
    auto* command = app.add_subcommand(
        "check", "Check files of templates, and models: everything that is wrong or unsupported, at once");
    command
        ->add_option("files", options->files,
                     "Template files (.yaml), models (.onnx), and texts of systems, kernels and plans (.txt)")
        ->required()
        ->type_name("FILE...");
    add_common(*command, options->common);
    command->footer("Example:\n  heddle check my.yaml model.onnx\n");
    return {command, &options->common, [options] { return check_files(*options); }};
}

Command add_explain(CLI::App& app) {
    auto options = std::make_shared<ExplainOptions>();
    auto* command =
        app.add_subcommand("explain", "Show what an operator is for given inputs: shapes, index, projections, code");
    auto* name = command->add_option("operator", options->operator_name, "Its name")->type_name("OPERATOR");
    command->add_option("arguments", options->arguments, "Inputs as x=float32[2,3], parameters as axis=1")
        ->type_name("NAME=...");
    add_common(*command, options->common);
    command->add_flag("--notations", options->notations,
                      "Each projection in all notations that can express it, and as an augmented matrix");
    command->add_flag("--gradient", options->gradient,
                      "The derived operations from adjoints of outputs to those of inputs; what follows shows theirs");
    command->add_flag("--equations", options->equations,
                      "The equations before and after fusion, and why what was fused; --equations=PASS also behind "
                      "this pass, --equations=all behind each (docs/equations.md)");
    command->add_flag("--schedule", options->schedule,
                      "What was chosen for each kernel, the plan, and the scheduled kernels");
    command->add_flag("--source", options->source, "The C code of the kernels");
    add_choices(*command, options->choices);
    command->add_option("--target", options->target, "The machine to choose for: a tag, a file or JSON (this one)")
        ->type_name("TARGET");
    add_system(*command, options->system, options->place);
    auto* shards =
        command
            ->add_option("--shard", options->shards,
                         "Cut it as heddle run does: the work of each part, what it touches, how it is combined")
            ->type_name("[OP.]AXIS=N[,...]|N|FILE.json")
            ->allow_extra_args(false);
    command
        ->add_flag("--one-round", options->one_round,
                   "Sums of exp(x - m) by the maximum m of each shard, rescaled when they are combined")
        ->needs(shards);
    command->add_option("--svg", options->svg, "Where to draw all this; with --shard the shards' regions")
        ->type_name("FILE");
    command->add_flag("--kernels", options->kernels,
                      "Its rows of kernels: placements, types, flavours; without an operator, those of all");
    command->callback([name, options] {
        if (name->empty() && !options->kernels) throw CLI::RequiredError("operator");
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
    return {command, &options->common, [options] { return explain_operator(*options); }};
}

Command add_operators(CLI::App& app) {
    auto options = std::make_shared<OperatorsOptions>();
    auto* command =
        app.add_subcommand("operators", "List all operators, or those that have a word, with what they take");
    auto* word = command->add_option("word", options->word, "In a name or a description");
    word->type_name("WORD");
    command->add_flag("--page", options->page, "As the page docs/operators.md")->excludes(word);
    add_common(*command, options->common);
    command->footer("Examples:\n  heddle operators\n  heddle operators softmax\n  heddle operators --format json\n");
    return {command, &options->common, [options] { return list_operators(*options); }};
}

Command add_verify(CLI::App& app) {
    auto options = std::make_shared<VerifyOptions>();
    auto* command =
        app.add_subcommand("verify", "Test rewrite rules on random instances; show where a wrong one fails");
    command
        ->add_option("files", options->files, "Files or folders with rules (docs/rewrites.md); none: the shipped ones")
        ->type_name("PATH...");
    add_repeated(*command, "--rule", options->rules, "Only the rule of this name; may be repeated", "NAME");
    command->add_option("--trials", options->trials, "Instances to compare of each rule")
        ->type_name("N")
        ->check(in_range(1, 1000000))
        ->capture_default_str();
    command->add_option("--seed", options->seed, "Another seed makes other instances")
        ->type_name("N")
        ->check(not_negative())
        ->capture_default_str();
    add_common(*command, options->common);
    command->footer(
        "Example:\n  heddle verify my_rules.yaml --trials 1000\n"
        "Exit status 1 if a rule is wrong: the smallest instance that shows it is printed.\n");
    return {command, &options->common, [options] { return verify_rules(*options); }};
}

Command add_rewrite(CLI::App& app) {
    auto options = std::make_shared<RewriteOptions>();
    auto* command =
        app.add_subcommand("rewrite", "Apply rewrite rules to a program of calls; show it before and after");
    command->add_option("arguments", options->arguments, "The types of the program's inputs")
        ->type_name("NAME=TYPE...");
    command->add_option("--call", options->call, "The program: calls of operators, as for heddle run")
        ->required()
        ->type_name("'y = linear(x, A, b)'");
    add_repeated(*command, "--rule", options->rules,
                 "A rule to apply, with its parameters; may be repeated (the first that fits is taken). "
                 "NAME::* is all rules of the library NAME that need no parameters; none: those of every --library",
                 "'NAME(PARAMETER: VALUE)'");
    command->add_option("--steps", options->steps, "At most so many steps (as long as a rule fits)")
        ->type_name("N")
        ->check(not_negative());
    add_common(*command, options->common);
    command->footer(
        "Examples:\n"
        "  heddle rewrite --call 'y = linear(x, A, b)' 'x=float32[8, 4]' 'A=float32[4, 3]' 'b=float32[3]' \\\n"
        "      --rule linear_to_matmul_add\n"
        "  heddle rewrite --call 'matmul(X, W)' 'X=int32[2, 9]' 'W=int32[9, 3]' --steps 1 \\\n"
        "      --rule 'split_inner(chunk: 4)'\n");
    return {command, &options->common, [options] { return rewrite_program(*options); }};
}

}  // namespace

std::vector<Command> operator_commands(CLI::App& app) {
    return {add_operators(app), add_check(app), add_explain(app), add_verify(app), add_rewrite(app)};
}

}  // namespace heddle::cli
