// Modelled seconds of operations and copies, by which placement chooses (docs/systems.md).
#pragma once

#include <vector>

#include "graph/graph.h"
#include "placing/devices.h"

namespace heddle::placing {

// What an operation takes of whatever device runs it.
struct OperationWork {
    double operations = 0;  // scalar_operations (evaluate/work.h)
    double bytes = 0;       // of the tensors that it reads and makes, each once
    double streamed = 0;    // and bytes that are moved while nothing is computed
};
// By OperationId. An opaque operation has no work but its bytes.
std::vector<OperationWork> work_of(const Graph& graph);

// How much longer operations take that are interpreted, where the target does not say how many it does in a second.
inline constexpr double interpreted_times = 100;

// streamed / bandwidth + max(bytes / bandwidth, operations / rate), on all cores.
double roofline(const OperationWork& work, const Target& target);

// launch + roofline: the operation alone, before fusion, on whatever device. What programs cost as fusion makes them is
// finer (fused_costs.h).
double seconds(const OperationWork& work, const Target& target);

}  // namespace heddle::placing
