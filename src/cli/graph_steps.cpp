#include "cli/graph_steps.h"

#include <fmt/format.h>

#include "cli/bindings.h"
#include "cli/run_staged.h"
#include "cli/step_pictures.h"
#include "cli/support.h"
#include "frontends/onnx/import.h"

namespace heddle::cli {

Result<artefact::StepProgram> sketch(const GraphOptions& options, const Library& library) {
    const std::string wrong = !options.rules.empty()    ? "--rule"
                              : !options.inputs.empty() ? "--input"
                              : !options.json.empty()   ? "--json"
                              : !options.shards.empty() ? "--shard"
                              : options.validate        ? "--validate"
                              : options.profile         ? "--profile"
                                                        : "";
    if (!wrong.empty()) return for_one_graph(wrong);
    auto model = onnx::read_model(options.file);
    if (!model) return fail(std::move(model.error()));
    const auto resolved = resolve_bindings(options.bindings, dimensions_of(*model));
    if (!resolved) return fail(resolved.error());
    auto dimensions = artefact::parse_dimensions(*resolved);
    if (!dimensions) return fail(std::move(dimensions.error()));
    return artefact::make_step_program({.name = "sketch",
                                        .model = *model,
                                        .library = library,
                                        .dimensions = std::move(*dimensions),
                                        .targets = {},
                                        .is_sketch = true});
}

Result<std::vector<pictures::Picture>> pictures_of(const GraphOptions& options, const std::string& title,
                                                   const artefact::StepProgram& program) {
    std::vector<pictures::Picture> pages = pictures::draw_pages(drawing_of(title, program));
    for (size_t p = 0; p < program.parts.size(); p++) {
        const Graph& graph = *program.parts[p].graph;
        const std::string sizes = sizes_of(graph);
        const std::string own = fmt::format("{}, stage {}{}{}", title, p + 1, sizes.empty() ? "" : ", at ", sizes);
        std::vector<pictures::Picture> more;
        if (options.fused) {
            const auto plan = plan::make_plan(graph, this_machine());
            if (!plan) return fail(plan.error());
            warn(plan->notes);
            auto drawn = pictures::draw_plan(own, graph, *plan, {}, options.unfold);
            if (!drawn) return drawn;
            more = std::move(*drawn);
        } else {
            more = pictures::draw_operations(own, graph, options.unfold);
        }
        std::ranges::move(more, std::back_inserter(pages));
    }
    return pages;
}

}  // namespace heddle::cli
