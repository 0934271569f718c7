// How much of each memory a placed graph needs at once.
#pragma once

#include <cstdint>
#include <vector>

#include "placing/placement.h"

namespace heddle::placing {

// By MemoryId: constants, and tensors from where they are made or copied to the last operation that reads them there, in
// the graph's order; outputs and inputs stay. Before fusion, which only needs less.
std::vector<int64_t> peak_bytes(const Graph& graph, const System& system, const Placement& placement);

}  // namespace heddle::placing
