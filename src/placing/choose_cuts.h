// Which axis each operation of a graph is cut along, over a mesh of places: some are said, the rest is chosen by cost.
#pragma once

#include <string>
#include <vector>

#include "placing/cut_costs.h"
#include "placing/said_cuts.h"

namespace heddle::placing {

// What comes and stays as parts, by numbers of the graph's inputs and outputs.
struct SaidParts {
    std::map<size_t, sharding::Spread> inputs = {};  // how these lie already
    // An input, and the output that it is the next time, which stays where it is made. Of one type they lie alike: as the input
    // lies already, else as costs least of a run behind another. Of two types the output lies as it is made.
    std::vector<std::pair<size_t, size_t>> states = {};
};

// How a graph is cut, and what that costs by the model.
struct Cutting {
    Mesh mesh;
    std::vector<std::vector<std::string>> axes;  // by OperationId and dimension of the mesh; empty: none
    std::vector<sharding::Cut> cuts;             // by OperationId
    sharding::Spreads spreads = {};              // of what is said to be parts
    double compute_seconds = 0, send_seconds = 0;
    std::vector<int64_t> out, in;  // bytes that each place sends and receives, gathering the outputs included
    int64_t bytes = 0;
};

// Cuts that are said hold; with them others cost least (cut_search.h), in modelled seconds. Each of `readers` gets all
// outputs, but those that stay. Codes: those of check_program, cut_table and sharding::place.
Result<Cutting> choose_cuts(const Graph& graph, const SaidCuts& said, const System& system,
                            const std::vector<sharding::PlaceId>& readers, const SaidParts& parts = {});

}  // namespace heddle::placing
