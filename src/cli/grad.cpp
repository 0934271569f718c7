// heddle grad: the program of a gradient is run as any other (run.cpp), written and drawn (graph.cpp), or explained.
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "cli/gradient_source.h"
#include "explain/explanation.h"

namespace heddle::cli {
namespace {

using Json = nlohmann::ordered_json;

Differentiated what_of(const GradOptions& options) {
    return {options.run.model, options.run.call, options.run.bindings, options.run.rules};
}

bool explains(const GradOptions& options) {
    return options.explain || options.equations || options.schedule || options.source;
}

Result<void> print_list(const GradOptions& options) {
    auto library = open_libraries(options.run.common);
    if (!library) return fail(std::move(library.error()));
    auto given = read_inputs(options.run.inputs);
    if (!given) return fail(std::move(given.error()));
    auto list = list_differentiable(what_of(options), *options.run.gradient, *library, *given);
    if (!list) return fail(std::move(list.error()));
    if (!options.run.common.json) {
        for (const Differentiable& each : *list)
            fmt::print("{} {}: {}\n", each.is_weight ? "weight" : "input", each.name, each.type);
        return {};
    }
    Json json = {{"inputs", Json::array()}, {"weights", Json::array()}};
    for (const Differentiable& each : *list)
        json[each.is_weight ? "weights" : "inputs"].push_back({{"name", each.name}, {"type", each.type}});
    fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
    return {};
}

Result<void> explain_gradient(const GradOptions& options) {
    auto library = open_libraries(options.run.common);
    if (!library) return fail(std::move(library.error()));
    auto given = read_inputs(options.run.inputs);
    if (!given) return fail(std::move(given.error()));
    auto source = load_gradient(what_of(options), *options.run.gradient, *library, *given);
    if (!source) return fail(std::move(source.error()));
    auto explanation = explain::explain_graph(
        source->graph, {source->input_names, source->output_names}, this_machine(),
        {.equations = options.equations, .schedule = options.schedule, .source = options.source});
    if (!explanation) return fail(std::move(explanation.error()));
    warn(explanation->notes);
    fmt::print("{}", options.run.common.json ? explanation->json() + "\n" : explanation->text());
    return {};
}

int draw_gradient(const GradOptions& options) {
    GraphOptions graph;
    graph.common = options.run.common;
    graph.file = options.run.model;
    graph.call = options.run.call;
    graph.bindings = options.run.bindings;
    graph.rules = options.run.rules;
    graph.inputs = options.run.inputs;
    graph.cache = options.run.cache;
    graph.threads = options.run.threads;
    graph.fused = options.fused;
    graph.unfold = options.unfold;
    graph.svg = options.svg;
    graph.json = options.json;
    graph.gradient = options.run.gradient;
    return show_graph(graph);
}

}  // namespace

int differentiate_model(const GradOptions& options) {
    if (options.list || explains(options)) {
        auto done = options.list ? print_list(options) : explain_gradient(options);
        return done ? 0 : report(done.error(), options.run.common);
    }
    if (!options.svg.empty() || !options.json.empty()) return draw_gradient(options);
    return run_model(options.run);
}

}  // namespace heddle::cli
