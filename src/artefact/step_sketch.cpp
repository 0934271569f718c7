// Steps to look at: each kind of graph that a stage is, at some sizes.
#include <algorithm>

#include "artefact/step_program.h"

namespace heddle::artefact {

Result<std::vector<Program>> sketched_programs(const ProgramRequest& request) {
    constexpr int64_t small = 8;
    constexpr size_t most = 16;  // graphs: sizes that differ in more ways are kinds that nobody looks at
    std::vector<Dimension> open;
    SizeNames fixed, sizes;
    for (const Dimension& dimension : request.dimensions) {
        sizes[dimension.name] = dimension.below(std::clamp(small, dimension.from, dimension.to));
        if (dimension.count() > 1)
            open.push_back(dimension);
        else
            fixed[dimension.name] = dimension.from;
    }
    std::vector<Program> programs;
    size_t tried = 0;
    const auto make = [&](const SizeNames& at) -> Result<SizeDomain> {
        auto graph = request.graph(at);
        if (!graph) return fail(std::move(graph.error()));
        const bool is_known = std::ranges::find(programs, graph->tag, &Program::tag) != programs.end();
        SizeDomain domain = domain_of(++tried < most ? graph->facts->list() : std::vector<SizeFact>(), open, fixed);
        if (graph->tag != left_out_tag && !is_known)
            programs.push_back(
                {.tag = graph->tag, .dimensions = open, .graph = std::make_shared<const Graph>(std::move(*graph))});
        return domain;
    };
    // Sizes of a picture are rather not 0.
    if (auto first = make(sizes); !first) return fail(std::move(first.error()));
    if (auto all = cover(open, fixed, make); !all && programs.empty()) return fail(std::move(all.error()));
    return programs;
}

}  // namespace heddle::artefact
