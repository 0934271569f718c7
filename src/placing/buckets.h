// What a step makes for others as messages: what is complete long before the step ends need not wait for the rest of it,
// and what is small goes together.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "target/target.h"

namespace heddle::placing {

// By output of the graph: modelled seconds until it is complete, where those with the fewest operations on the way to them
// come first, and what the next one needs is computed before all else (as equations/fusion.h does for messages).
std::vector<double> seconds_to_outputs(const Graph& graph, const Target& target);

// A value that one step makes for one receiver.
struct Leaving {
    double ready = 0;  // seconds after the step begins
    int64_t bytes = 0;
};

// By value the number of its message: those that are ready first are in the first. A message waits for more until the link
// needs some times its latency for what it has; then it takes what is ready within one more latency, and leaves.
std::vector<size_t> buckets_of(const std::vector<Leaving>& values, double latency, double bandwidth);

}  // namespace heddle::placing
