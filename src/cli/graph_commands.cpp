// heddle graph.
#include "cli/command.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"

namespace heddle::cli {
namespace {

Command add_graph(CLI::App& app) {
    auto options = std::make_shared<GraphOptions>();
    auto* command =
        app.add_subcommand("graph", "Draw, validate and exchange graphs: models, calls and graph documents");
    command->add_option("file", options->file, "An ONNX model, or a graph document")
        ->type_name("MODEL.onnx|GRAPH.json");
    command->add_option("--call", options->call, "Instead of a file: calls of operators")
        ->type_name("'y = add([A, B])'");
    add_repeated(*command, "--input-type", options->input_types,
                 "The type, or the range, of an input of --call; repeated", "A=int32[10,10]|B=int32[200:210,50:60]");
    auto* validate = command->add_flag("--validate", options->validate,
                                       "Whether the parts fit together: everything that is wrong, at once");
    command
        ->add_option("--environment", options->environment,
                     "What is legal, for --validate (heddle; loom for documents)")
        ->type_name("NAME|FILE")
        ->needs(validate);
    command->add_option("--json", options->json, "Where to write the graph as a document")->type_name("FILE");
    command->add_option("--svg", options->svg, "Where to write the picture")->type_name("FILE");
    command
        ->add_option("--shard", options->shards,
                     "Cut it as heddle run does: the document and the picture show the applications")
        ->type_name("[OP.]AXIS=N[,...]|N|FILE.json")
        ->allow_extra_args(false);
    add_common(*command, options->common);
    add_bindings(*command, options->bindings);
    add_rules(*command, options->rules);
    add_repeated(*command, "--input", options->inputs,
                 "The value of a model's input, where shapes or branches follow from it", "NAME=FILE");
    auto* fused =
        command->add_flag("--fused", options->fused, "Draw the launches after fusion, with the operations in each");
    command->add_flag("--profile", options->profile, "With the time of each launch, on given or made-up inputs")
        ->needs(fused);
    command->add_flag("--unfold", options->unfold,
                      "Draw what repeats as often as it is there, not once with its number");
    add_threads(*command, options->threads);
    add_cache(*command, options->cache);
    command->footer(
        "Examples:\n"
        "  heddle graph model.onnx --svg model.svg --bind batch=1\n"
        "  heddle graph model.onnx --svg launches.svg --fused --profile\n"
        "  heddle graph detector.onnx --bind height=320,width=320 --svg steps.svg   (what data decide)\n"
        "  heddle graph --call 'add([A, B])' --input-type 'A=int32[10,10]' --input-type 'B=int32[10,10]' \\\n"
        "      --validate --json sum.json\n"
        "  heddle graph --call 'matmul(x, w)' --input-type 'x=float32[4,6]' --input-type 'w=float32[6,5]' \\\n"
        "      --shard in_row=2,k=3 --json shards.json --svg shards.svg           (docs/sharding.md)\n"
        "  heddle graph sum.json --validate --environment loom --svg sum.svg      (docs/graphs.md)\n");
    return {command, &options->common, [options] { return show_graph(*options); }};
}

}  // namespace

std::vector<Command> graph_commands(CLI::App& app) { return {add_graph(app)}; }

}  // namespace heddle::cli
