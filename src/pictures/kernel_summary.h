// What the kernels of a plan compute, in a few words, and which operations of the graph have gone into each.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "equations/fusion.h"
#include "graph/graph.h"
#include "pictures/notation.h"
#include "target/target.h"

namespace heddle::pictures {

inline constexpr int most_threads = 1 << 20;  // all cores

struct EquationSummary {
    OperationClass what = OperationClass::movement;
    std::string text;  // "y = sum over 64 x 3 x 3 (mul)"
};

struct KernelSummary {
    std::vector<EquationSummary> equations;
    std::set<OperationId> operations;
    double seconds = 0;  // modelled for the sizes here, in a launch of its own (equations/cost.h)
};

// By the name of their launches: those of `run`, in order. The system's estimates are then those of the graph's sizes.
using Summaries = std::map<std::string, std::vector<KernelSummary>>;
Summaries summarise(const Graph& graph, equations::System& system, const equations::Partition& partition,
                    const Target& target);
// A plan keeps no equations; the same pure functions give the same ones again. Seconds are those of so many threads.
Result<Summaries> summarise(const Graph& graph, const Target& target, int threads = most_threads);

// "conv, add ×2, relu": what only moves elements is left out where something is computed; of long lists the begin, and
// how many more there are.
std::string operators_text(const Graph& graph, const std::set<OperationId>& operations);

}  // namespace heddle::pictures
