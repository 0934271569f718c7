#include "placing/choose_cuts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <thread>

#include "placing/cut_search.h"

namespace heddle::placing {

namespace {

// One search, and how what stays lies behind it.
struct Way {
    FoundCuts found;
    CutCosts costs;
    sharding::Spreads spreads;
};

// Boxes of a place that make up one are that one: as of a cache, what was there and what is new.
sharding::Spread in_few_boxes(const sharding::Spread& spread) {
    std::map<sharding::PlaceId, std::vector<Box>> boxes;
    for (const auto& [place, box] : spread) boxes[place].push_back(box);
    sharding::Spread all;
    for (const auto& [place, own] : boxes) {
        Box around = own.front();
        for (const Box& box : own) around = hull(around, box);
        if (!overlapping(own) && total_volume(own) == around.volume())
            all.emplace_back(place, around);
        else
            for (const Box& box : own) all.emplace_back(place, box);
    }
    return all;
}

class Search {
public:
    Search(const Graph& graph, const CutTable& table, const System& system,
           const std::vector<sharding::PlaceId>& readers, const SaidParts& parts)
        : graph_(graph),
          table_(table),
          readers_(readers),
          parts_(parts),
          places_(system.devices.size()),
          layouts_(system) {
        for (const auto& [input, spread] : parts.inputs) said_.inputs[graph.inputs[input]] = spread;
        for (const auto& [input, output] : parts.states) {
            const auto known = parts.inputs.find(input);
            const bool lies = known != parts.inputs.end() && is_one_type(input, output);
            said_.outputs[output] = lies ? known->second : sharding::Spread{};
            open_ = open_ || (known == parts.inputs.end() && is_one_type(input, output));
        }
    }

    // First as if states might come and go as they please, then with them where that has left them.
    Way best() {
        constexpr int most_rounds = 4;
        Way last = way(said_);
        std::optional<Way> best;
        for (int round = 0; open_ && round < most_rounds; round++) {
            sharding::Spreads tied = tied_to(last.costs);
            if (round > 0 && tied == last.spreads) break;
            last = way(std::move(tied));
            if (!best || last.costs.seconds() < best->costs.seconds()) best = last;
        }
        Way& taken = best ? *best : last;
        for (auto& [output, spread] : taken.spreads.outputs)
            if (spread.empty()) spread = made(taken.costs, output);
        return std::move(taken);
    }

private:
    bool is_one_type(size_t input, size_t output) const {
        const TensorType &in = graph_.tensor(graph_.inputs[input]).type,
                         &out = graph_.tensor(graph_.outputs[output]).type;
        return in.dtype == out.dtype && in.extents() == out.extents();
    }

    Way way(sharding::Spreads spreads) {
        CutSearch search(graph_, table_, layouts_, readers_, spreads);
        FoundCuts found = search.search({}, {});
        CutCosts costs = search.costs(found.choices);
        return {std::move(found), std::move(costs), std::move(spreads)};
    }

    sharding::Spread made(const CutCosts& costs, size_t output) const {
        const TensorId tensor = graph_.outputs[output];
        const LayoutId layout = costs.made[tensor];
        if (layout != Layouts::everywhere && !layouts_.spread(layout).empty())
            return in_few_boxes(layouts_.spread(layout));
        sharding::Spread spread;  // no operation makes it, or it has no elements
        for (size_t place = 0; place < places_; place++)
            spread.emplace_back(place, Box::whole(graph_.tensor(tensor).type.shape));
        return spread;
    }

    sharding::Spreads tied_to(const CutCosts& costs) const {
        sharding::Spreads tied = said_;
        for (const auto& [input, output] : parts_.states) {
            if (parts_.inputs.contains(input) || !is_one_type(input, output)) continue;
            tied.inputs[graph_.inputs[input]] = tied.outputs[output] = made(costs, output);
        }
        return tied;
    }

    const Graph& graph_;
    const CutTable& table_;
    const std::vector<sharding::PlaceId>& readers_;
    const SaidParts& parts_;
    const size_t places_;
    Layouts layouts_;
    sharding::Spreads said_;  // of outputs that stay anywhere: nothing
    bool open_ = false;       // there are states that may lie anyhow
};

}  // namespace

Result<Cutting> choose_cuts(const Graph& graph, const SaidCuts& said, const System& system,
                            const std::vector<sharding::PlaceId>& readers, const SaidParts& parts) {
    if (auto fits = check_program(said, graph); !fits) return fail(std::move(fits.error()));
    // Threads are worth their start where there is much to work out.
    std::optional<ThreadPool> pool;
    if (graph.operations.size() > 16)
        pool.emplace(static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 64u)));
    const OperationKinds kinds = kinds_of(graph, *system.devices.front().target);
    auto table = cut_table(graph, kinds, said, system, pool ? &*pool : nullptr);
    if (!table) return fail(std::move(table.error()));
    auto [found, costs, spreads] = Search(graph, *table, system, readers, parts).best();
    Cutting made{.mesh = said.mesh,
                 .axes = {},
                 .cuts = {},
                 .spreads = std::move(spreads),
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
