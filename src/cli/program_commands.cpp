// Commands that compile programs and run them: run, compare, grad, compile, optimise.
#include "cli/command.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"

namespace heddle::cli {
namespace {

Command add_run(CLI::App& app) {
    auto options = std::make_shared<RunOptions>();
    auto* command = app.add_subcommand("run", "Compile a model, or a program of calls, and run it");
    command->add_option("model", options->model, "An ONNX model")->type_name("MODEL.onnx");
    command->add_option("--call", options->call, "Instead of a model: calls of operators; the last value is the output")
        ->type_name("'y = softmax(x, axis: 1)'");
    add_common(*command, options->common);
    add_inputs(*command, options->inputs, options->random_seed, options->bindings);
    add_repeated(*command, "--input-type", options->input_types,
                 "The type of an input of --call that no file gives; with --random it is made up; repeated",
                 "'x=float32[batch, 10]'");
    add_running(*command, *options);
    auto* system = add_system(*command, options->system, options->place);
    for (const char* other : {"--backend", "--plugin", "--profile", "--unfused", "--choose"})
        system->excludes(command->get_option(other));
    command->add_flag("--placement", options->placement,
                      "With --system where each operation is placed and why, and the copies; else how each is cut");
    add_shards(*command, options->shard);
    for (const char* places : {"--shard", "--hosts", "--machines"}) {
        system->excludes(command->get_option(places));
        for (const char* other : {"--backend", "--plugin", "--profile", "--unfused", "--choose"})
            command->get_option(places)->excludes(command->get_option(other));
    }
    command->footer(
        "Examples:\n"
        "  heddle run model.onnx --random 1 --bind batch=4\n"
        "  heddle run model.onnx --input x=x.npy --output-dir out --repeat 100\n"
        "  heddle run model.onnx --random 1 --system two.json --place logits=c0 --placement\n"
        "  heddle run model.onnx --random 1 --shard batch=2 --placement\n"
        "  heddle run model.onnx --random 1 --library my_rules.yaml --rule 'my_rules::*'\n"
        "  heddle run --library my.yaml --call 'y = swish(x); z = add2(y, x)' --input x=x.npy\n"
        "  heddle run --call 'softmax(x)' --input-type 'x=float32[9, 100]' --random 1 --output y.npy\n");
    return {command, &options->common, [options] { return run_model(*options); }};
}

Command add_compare(CLI::App& app) {
    auto options = std::make_shared<CompareOptions>();
    auto* command =
        app.add_subcommand("compare", "Compare what a model's kernels compute with an independent computation");
    auto* model = command->add_option("model", options->model, "An ONNX model");
    model->type_name("MODEL.onnx");
    auto* call = command->add_option("--call", options->call, "Instead of a model: calls of operators");
    call->type_name("'y = softmax(x, axis: 1)'")->excludes(model);
    add_repeated(*command, "--input-type", options->input_types, "The type of an input of --call that no file gives",
                 "'x=float32[batch, 10]'");
    command->callback([model, call] {
        if (model->empty() && call->empty()) throw CLI::RequiredError("model");
    });
    command
        ->add_option("--with", options->with,
                     "reference: the interpreter, tensor by tensor; unfused: a plan without fusion; "
                     "DIR: expected outputs output_0.npy ...")
        ->required()
        ->type_name("reference|unfused|DIR");
    add_plugin(*command, options->plugin);
    add_common(*command, options->common);
    add_inputs(*command, options->inputs, options->random_seed, options->bindings);
    add_rules(*command, options->rules);
    add_threads(*command, options->threads);
    add_work(*command, options->work);
    add_cache(*command, options->cache);
    command->footer(
        "Examples:\n"
        "  heddle compare model.onnx --with reference --random 1 --bind batch=2\n"
        "  heddle compare --call 'softmax(x)' --input-type 'x=float32[9, 100]' --with reference --random 1\n"
        "  heddle compare model.onnx --with test_data_set_0       (input_0.pb ... and output_0.pb ... there)\n"
        "Exit status 1 if anything is outside of its bound.\n");
    return {command, &options->common, [options] { return compare_model(*options); }};
}

// Options of `heddle run`, which takes what it differentiates as that does; `graph` draws it.
Command add_grad(CLI::App& app) {
    auto options = std::make_shared<GradOptions>();
    auto* command = app.add_subcommand(
        "grad", "Make the program of a model's gradient: run it, write it, draw it, explain it (docs/gradients.md)");
    RunOptions& run = options->run;
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
    auto* list = command->add_flag("--list", options->list, "List what --wrt may name");
    add_common(*command, run.common);
    add_inputs(*command, run.inputs, run.random_seed, run.bindings);
    add_repeated(*command, "--input-type", gradient.input_types,
                 "The type of an input of --call or --loss that no file gives; repeated", "target=int64[8]");
    add_running(*command, run);
    command->add_option("--json", options->json, "Where to write the gradient as a graph document, without running it")
        ->type_name("FILE");
    auto* svg = command->add_option("--svg", options->svg, "Where to draw the gradient, without running it");
    svg->type_name("FILE");
    command->add_flag("--fused", options->fused, "Draw the launches after fusion, and the memory")->needs(svg);
    command->add_flag("--unfold", options->unfold, "Draw what repeats as often as it is there")->needs(svg);
    command->add_flag("--explain", options->explain, "Say what it consists of, what it costs, and its kernels")
        ->excludes(list)
        ->excludes(svg);
    command->add_flag("--equations", options->equations, "The same, with the equations before and after fusion");
    command->add_flag("--schedule", options->schedule, "The same, with what was chosen for each kernel, and the plan");
    command->add_flag("--source", options->source, "The same, with the C code of the kernels");
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
    return {command, &run.common, [options] { return differentiate_model(*options); }};
}

Command add_compile(CLI::App& app) {
    auto options = std::make_shared<CompileOptions>();
    auto* command = app.add_subcommand("compile",
                                       "Write a program that runs without Heddle: a library, an object or C "
                                       "(docs/compile.md), or a page (docs/webgpu.md)");
    auto* model = command->add_option("model", options->model, "An ONNX model");
    model->type_name("MODEL.onnx");
    auto* call = command->add_option("--call", options->call, "Instead of a model: calls of operators");
    call->type_name("'y = softmax(x, axis: 1)'")->excludes(model);
    add_repeated(*command, "--input-type", options->input_types, "The type of an input of --call; repeated",
                 "'x=float32[batch, 10]'");
    command->add_option("-o,--output-dir", options->folder, "The folder to write to")->required()->type_name("DIR");
    command->add_option("--name", options->name, "What the program's functions and files are called (the model's name)")
        ->type_name("NAME");
    add_repeated(*command, "--bind", options->bindings,
                 "Sizes of dimensions that the model leaves open: one, or all of a range that the program is to take, "
                 "which without an end goes as far as the model does",
                 "batch=4,seq=8:512:8,rows=1:");
    add_repeated(
        *command, "--target", options->targets,
        "The machine that it is for, as heddle targets names it, a file or native; repeated, and the first that "
        "runs is taken (x86-64-v4, then x86-64-v3); webgpu: a page",
        "TARGET");
    auto* system = add_system(*command, options->system, options->place);
    system->excludes(command->get_option("--target"));
    check_words(*command->add_option("--emit", options->emit, "What to write")->capture_default_str(),
                {"library", "object", "c"});
    check_words(
        *command->add_option("--weights", options->weights,
                             "Where weights lie: in it (but C of more than 16 MB of them), or in a file to be mapped"),
        {"inside", "beside"});
    for (const char* other : {"--emit", "--weights"}) system->excludes(command->get_option(other));
    command
        ->add_option(
            "--cc", options->compiler,
            "The C compiler that makes the part around the kernels, and links (cc; for other machines the usual "
            "one, such as aarch64-linux-gnu-gcc)")
        ->type_name("PROGRAM");
    add_repeated(*command, "--cc-flag", options->flags, "A flag for it; repeated", "FLAG");
    add_common(*command, options->common);
    add_rules(*command, options->rules);
    add_repeated(
        *command, "--input", options->inputs,
        "The value of a model's input that shapes or branches follow from: the program takes no other; of a page: "
        "one that it compares with",
        "NAME=FILE");
    command
        ->add_option("--random", options->random_seed,
                     "A page: make up the inputs that it compares with, from this seed")
        ->type_name("SEED");
    add_threads(*command, options->threads);
    add_work(*command, options->work);
    add_cache(*command, options->cache);
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
    return {command, &options->common, [options] { return compile_model(*options); }};
}

Command add_optimise(CLI::App& app) {
    auto options = std::make_shared<OptimiseOptions>();
    auto* command = app.add_subcommand(
        "optimise", "Find how a program is best cut over machines: by time, bytes sent, memory (docs/sharding.md)");
    auto* model = command->add_option("model", options->model, "An ONNX model");
    model->type_name("MODEL.onnx");
    auto* call = command->add_option("--call", options->call, "Instead of a model: calls of operators");
    call->type_name("'y = matmul(x, w)'")->excludes(model);
    command->callback([model, call] {
        if (model->empty() && call->empty()) throw CLI::RequiredError("model");
    });
    add_repeated(*command, "--input-type", options->input_types, "The type of an input of --call; repeated",
                 "'x=float32[batch, 10]'");
    add_repeated(*command, "--input", options->inputs,
                 "The value of a model's input, where shapes or branches follow from it", "NAME=FILE");
    auto* loss = command->add_option("--loss", options->loss,
                                     "Of a step of training instead: the gradient of this loss, as for grad");
    loss->type_name("'reduce_mean(y)'");
    command
        ->add_option("--wrt", options->wrt,
                     "With --loss: with respect to these inputs and weights (all of float types)")
        ->type_name("'NAME,PATTERN*'")
        ->allow_extra_args(false)
        ->needs(loss);
    command
        ->add_option("--machines", options->machines,
                     "So many places on this machine; or the devices of a target, by tag or file")
        ->type_name("N|TAG|FILE")
        ->required();
    auto* limit = command->add_option(
        "--limit", options->limit,
        "Only ways that stay within: seconds, bytes sent, memory of a place in bytes, places, launches");
    limit->type_name("memory=2e9,bytes=1e6");
    command->add_option("--seed", options->seed, "Another seed tries other mixtures of costs")
        ->type_name("N")
        ->check(not_negative())
        ->capture_default_str();
    command->add_option("--time", options->time, "End the search after so many seconds, with what there is then")
        ->type_name("SECONDS")
        ->check(positive());
    auto* simulate =
        command->add_option("--simulate", options->simulate,
                            "On paper: what the program costs over so many places of a cluster, by the model");
    simulate->type_name("8,64,512")->check([](const std::string& text) {
        return text.empty() ? "no numbers of places" : "";
    });
    auto* grow =
        command->add_option("--grow", options->grow, "With --simulate: a dimension that is so large for each place");
    grow->type_name("batch=32")->needs(simulate);
    auto* shard =
        command->add_option("--shard", options->shards,
                            "With --simulate: how it is cut, as for run; the first dimension of the mesh grows");
    shard->type_name("batch=2,head=8|FILE")->allow_extra_args(false)->needs(simulate);
    auto* svg = command->add_option("--svg", options->svg, "Draw the front there: time and memory of each way");
    svg->type_name("FILE");
    auto* output = command->add_option("-o,--output", options->output, "Write the fastest way there, for --shard");
    output->type_name("FILE");
    simulate->excludes(limit)->excludes(svg)->excludes(output);
    add_rules(*command, options->rules);
    add_bindings(*command, options->bindings);
    add_threads(*command, options->threads);
    add_common(*command, options->common);
    command->footer(
        "Examples:\n"
        "  heddle optimise model.onnx --bind batch=8 --machines 4 --svg front.svg -o cuts.json\n"
        "  heddle optimise model.onnx --bind batch=8 --machines cluster.json --limit memory=2e9 --time 10\n"
        "  heddle optimise --call 'y = matmul(x, w)' --input-type 'x=float32[512, 512]' \\\n"
        "      --input-type 'w=float32[512, 512]' --machines 4\n"
        "  heddle optimise model.onnx --machines aws/p5-cluster --simulate 8,16 --grow batch=32\n"
        "  heddle optimise model.onnx --loss 'reduce_mean(y)' --wrt '*.weight' --bind batch=8 --machines 4\n"
        "Ctrl-C ends the search with what there is then, and exit status 130.\n");
    return {command, &options->common, [options] { return optimise_program(*options); }};
}

}  // namespace

std::vector<Command> program_commands(CLI::App& app) {
    return {add_run(app), add_compare(app), add_grad(app), add_compile(app), add_optimise(app)};
}

}  // namespace heddle::cli
