// What a cut program costs on very many places, without a graph for all of them. Places of a mesh do the same work on other
// boxes, so the first, a middle and the last one along each of its dimensions stand for all, and where an axis has fewer parts
// than places those around its last part: each operation is sharded as far as to have their boxes, and what they receive is what
// they read and have not, from others of their machine, which are looked at too, or from other machines. Up to four places
// along a dimension all are looked at, and the bytes are those of the search (cut_search.h).
#pragma once

#include <algorithm>
#include <vector>

#include "placing/cut_table.h"

namespace heddle::placing {

struct ScaleCosts {
    double compute_seconds = 0, send_seconds = 0;  // of the slowest place in each operation
    int64_t bytes = 0;                             // that are sent, by all places
    int64_t most_bytes = 0;                        // that the busiest place receives, or a place sends on average
    int64_t peak_bytes = 0;                        // of the place that holds most, as CutCosts
    double gather_seconds = 0;  // for the first place to get all outputs, which is in none of the others
    int64_t gathered_bytes = 0;
    double seconds() const { return compute_seconds + send_seconds; }
};

// The links of places of which so many, one after another, are a machine.
struct MachineLinks {
    LinkFigures within, across;
    int64_t places = 1;
    LinkFigures slowest() const {
        if (places == 1) return across;
        return {std::min(within.bandwidth, across.bandwidth), std::max(within.latency, across.latency)};
    }
};

// `cuts` by OperationId, without stages of a pipeline. All places are devices as `place`.
// Codes placing.scale (partial results of a declared reduction, a scan in parts), those of sharding::place.
Result<ScaleCosts> costs_at_scale(const Graph& graph, const OperationKinds& kinds, const Mesh& mesh,
                                  const std::vector<AxesOfMesh>& cuts, const Target& place, const MachineLinks& links);

}  // namespace heddle::placing
