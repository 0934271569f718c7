#include "placing/choose_cuts.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "placing/cut_search.h"

namespace heddle::placing {

Result<Cutting> choose_cuts(const Graph& graph, const SaidCuts& said, const System& system,
                            const std::vector<sharding::PlaceId>& readers) {
    // Threads are worth their start where there is much to work out.
    std::optional<ThreadPool> pool;
    if (graph.operations.size() > 16)
        pool.emplace(static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 64u)));
    const OperationKinds kinds = kinds_of(graph, *system.devices.front().target);
    auto table = cut_table(graph, kinds, said, system, pool ? &*pool : nullptr);
    if (!table) return fail(std::move(table.error()));
    const LinkFigures links = link_figures(system);
    Layouts layouts(system.devices.size(), links.bandwidth, links.latency, *system.devices.front().target);
    CutSearch search(graph, *table, layouts, readers);
    const FoundCuts found = search.search({}, {});
    CutCosts costs = search.costs(found.choices);
    Cutting made{.mesh = said.mesh,
                 .axes = {},
                 .cuts = {},
                 .compute_seconds = costs.compute_seconds,
                 .send_seconds = costs.send_seconds,
                 .out = std::move(costs.out),
                 .in = std::move(costs.in),
                 .bytes = costs.bytes};
    for (size_t o = 0; o < graph.operations.size(); o++) {
        made.axes.push_back(axis_names(kinds.kind(OperationId(o)), *found.choices[o]));
        made.cuts.push_back(found.choices[o]->cut);
    }
    return made;
}

}  // namespace heddle::placing
