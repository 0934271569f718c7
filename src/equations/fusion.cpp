#include "equations/fusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <queue>

#include "equations/fusion_groups.h"
#include "equations/scatter.h"

namespace heddle::equations {
namespace {

// Groups in an order in which producers stand before readers; prepared ones first, then those that the next message needs. Groups that need one another (which
// no grouping makes) follow in the order of their first equation.
std::vector<int32_t> ordered_groups(const FusionGraph& graph, const Grouping& grouping) {
    const size_t count = graph.nodes.size();
    std::vector<std::set<int32_t>> sources(count), readers(count);
    for (size_t n = 0; n < count; n++) {
        const int32_t group = grouping.group_of(static_cast<int32_t>(n));
        for (int32_t source : graph.nodes[n].sources) {
            const int32_t other = grouping.group_of(source);
            if (other == group) continue;
            sources[static_cast<size_t>(group)].insert(other);
            readers[static_cast<size_t>(other)].insert(group);
        }
    }
    const auto rank = [&](int32_t group) {
        const int32_t first = grouping.members(group)[0];
        return std::tuple(!graph.node(first).prepared, grouping.due(group), grouping.awaits(group), first, group);
    };
    std::set<std::tuple<bool, int32_t, int32_t, int32_t, int32_t>> ready, waiting;
    for (size_t n = 0; n < count; n++) {
        const auto group = static_cast<int32_t>(n);
        if (grouping.members(group).empty()) continue;
        (sources[n].empty() ? ready : waiting).insert(rank(group));
    }
    std::vector<int32_t> result;
    while (!ready.empty() || !waiting.empty()) {
        auto& from = ready.empty() ? waiting : ready;
        const int32_t group = std::get<4>(*from.begin());
        from.erase(from.begin());
        result.push_back(group);
        for (int32_t reader : readers[static_cast<size_t>(group)]) {
            auto& left = sources[static_cast<size_t>(reader)];
            left.erase(group);
            if (left.empty() && waiting.erase(rank(reader)) > 0) ready.insert(rank(reader));
        }
    }
    return result;
}

void push_once(std::vector<TensorIndex>& list, TensorIndex tensor) {
    if (std::find(list.begin(), list.end(), tensor) == list.end()) list.push_back(tensor);
}

Kernel kernel_of(const FusionGraph& graph, CommonAxesFinder& finder, const std::vector<int32_t>& members) {
    Kernel kernel;
    CommonAxes common = common_axes(graph, finder, members);
    kernel.common = std::move(common.axes);
    kernel.light = std::move(common.light);
    for (int32_t member : members) {
        const FusionNode& node = graph.node(member);
        kernel.equations.push_back(node.equation);
        for (const NodeRead& read : node.reads) {
            const bool local =
                !read.makers.empty() && std::all_of(read.makers.begin(), read.makers.end(),
                                                    [&](int32_t maker) { return finder.is_member(maker); });
            if (!local) push_once(kernel.inputs, read.tensor);
        }
        if (finder.is_output(member)) push_once(kernel.outputs, node.tensor);
    }
    return kernel;
}

bool intersect(const std::vector<TensorIndex>& a, const std::vector<TensorIndex>& b) {
    return std::any_of(a.begin(), a.end(), [&](TensorIndex t) { return std::find(b.begin(), b.end(), t) != b.end(); });
}

// Kernels of one level that do not touch what another of the batch writes. First come those that the next message needs, of
// these those that wait for the fewest messages; levels among them: longest path, opaque operations included.
std::vector<std::vector<int32_t>> batches_of(const FusionGraph& graph, const Grouping& grouping,
                                             const std::vector<int32_t>& order, const Partition& partition) {
    struct Level {
        int32_t due = 0, awaits = -1;
        int depth = 0;
        auto operator<=>(const Level&) const = default;
    };
    std::map<int32_t, Level> level;  // by group
    std::map<Level, std::vector<int32_t>> kernels_of_level;
    int32_t kernel = 0;
    for (int32_t group : order) {
        Level own{grouping.due(group), grouping.awaits(group), 0};
        bool equations = true;
        for (int32_t member : grouping.members(group)) {
            equations = equations && graph.node(member).equation >= 0;
            for (int32_t source : graph.node(member).sources) {
                const int32_t other = grouping.group_of(source);
                if (other == group) continue;
                Level behind = level[other];
                behind.depth++;
                if (behind.due == own.due) own = std::max(own, behind);
            }
        }
        const bool prepared = equations && partition.prepared[static_cast<size_t>(kernel)];
        level[group] = prepared ? Level{own.due, -1, -1} : own;  // what is prepared is there already
        if (equations && !prepared) kernels_of_level[own].push_back(kernel);
        if (equations) kernel++;
    }
    std::vector<std::vector<int32_t>> batches;
    for (const auto& [depth, kernels] : kernels_of_level) {
        const size_t first = batches.size();
        for (int32_t index : kernels) {
            const Kernel& candidate = partition.kernels[static_cast<size_t>(index)];
            size_t place = first;
            for (; place < batches.size(); place++) {
                const bool free = std::none_of(batches[place].begin(), batches[place].end(), [&](int32_t other) {
                    const Kernel& beside = partition.kernels[static_cast<size_t>(other)];
                    return intersect(candidate.inputs, beside.outputs) || intersect(beside.inputs, candidate.outputs);
                });
                if (free) break;
            }
            if (place == batches.size()) batches.emplace_back();
            batches[place].push_back(index);
        }
    }
    return batches;
}

std::vector<Decision> decisions_of(const System& system, const FusionGraph& graph, const Grouping& grouping) {
    std::vector<Decision> result;
    std::set<std::pair<TensorIndex, TensorIndex>> told;
    for (size_t n = 0; n < graph.nodes.size(); n++) {
        for (int32_t reader : graph.nodes[n].readers) {
            const auto producer = static_cast<int32_t>(n);
            if (!told.insert({graph.node(producer).tensor, graph.node(reader).tensor}).second) continue;
            Decision decision;
            decision.producer = system.tensor(graph.node(producer).tensor).name;
            decision.reader = system.tensor(graph.node(reader).tensor).name;
            const int32_t a = grouping.group_of(producer), b = grouping.group_of(reader);
            decision.joined = a == b;
            if (decision.joined) {
                decision.gain = grouping.gain_of_edge(producer, reader) * 1e6;
            } else if (const Refusal* refusal = grouping.refusal(a, b)) {
                decision.gain = refusal->gain * 1e6;
                decision.reason = text_of(*refusal);
            } else {
                decision.reason = "fusion is off";
            }
            result.push_back(std::move(decision));
        }
    }
    return result;
}

std::string names_of(const System& system, const std::vector<TensorIndex>& tensors) {
    std::string text;
    for (TensorIndex tensor : tensors) text += (text.empty() ? "" : ", ") + system.tensor(tensor).name;
    return text;
}

}  // namespace

Partition fuse(const System& system, const Target& target, const FusionOptions& options) {
    const FusionGraph graph(system);
    Grouping grouping(graph, target, options);
    if (options.fuse) grouping.run();
    const auto order = ordered_groups(graph, grouping);
    Partition partition;
    for (int32_t group : order) {
        const auto& members = grouping.members(group);
        if (graph.node(members[0]).equation < 0) continue;
        partition.kernels.push_back(kernel_of(graph, grouping.model().finder(), members));
        partition.prepared.push_back(graph.node(members[0]).prepared);
    }
    partition.batches = batches_of(graph, grouping, order, partition);
    partition.decisions = decisions_of(system, graph, grouping);
    return partition;
}

namespace {

std::string reduction_text(const System& system, const Equation& equation) {
    if (!equation.reducer) return "";
    return fmt::format(" ({}{})", name(*equation.reducer), scatter_of(system, equation) ? ", scattered by data" : "");
}

}  // namespace

std::string print(const System& system, const Partition& partition) {
    std::string text;
    auto out = std::back_inserter(text);
    for (size_t k = 0; k < partition.kernels.size(); k++) {
        const Kernel& kernel = partition.kernels[k];
        fmt::format_to(out, "kernel {}{}: {} -> {}\n", k, partition.prepared[k] ? " (prepare)" : "",
                       names_of(system, kernel.inputs), names_of(system, kernel.outputs));
        for (const Kernel::CommonAxis& common : kernel.common) {
            std::string axes;
            for (const auto& [equation, axis] : common.axis_of) {
                axes += fmt::format(" {}.{}", system.tensor(system.equation(equation).tensor).name,
                                    system.arena->axis(axis).name);
            }
            fmt::format_to(out, "  common {}:{}\n", common.extent.number(), axes);
        }
        for (int32_t index : kernel.equations) {
            const Equation& equation = system.equation(index);
            fmt::format_to(
                out, "  {}{}{}{}\n", system.tensor(equation.tensor).name,
                system.tensor(equation.tensor).equations.size() > 1 ? fmt::format(" piece {}", equation.piece) : "",
                reduction_text(system, equation), kernel.light.contains(index) ? " light" : "");
        }
    }
    for (size_t b = 0; b < partition.batches.size(); b++) {
        fmt::format_to(out, "launch {}:", b);
        for (int32_t kernel : partition.batches[b]) fmt::format_to(out, " {}", kernel);
        text += "\n";
    }
    return text;
}

}  // namespace heddle::equations
