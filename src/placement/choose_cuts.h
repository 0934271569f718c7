// Which axis each operation of a graph is cut along, over a mesh of places: some are said, the rest is chosen by cost.
#pragma once

#include <string>
#include <vector>

#include "placement/cut_costs.h"

namespace heddle::placement {

// What is said of a cut: "in_row=2,k=4", "y.k=2": for each dimension of the mesh an axis, of one operation or, without a
// name, of each that has it.
struct SaidCut {
    std::string operation, axis;  // an empty operation: of all; an empty axis: none
    int64_t parts = 1;
};

// Texts of commands, each over the dimensions of one mesh, which all of them must agree in. Codes placement.cut_syntax,
// placement.cut_mesh.
struct SaidCuts {
    Mesh mesh;
    std::vector<std::vector<SaidCut>> texts;
};
Result<SaidCuts> parse_cuts(const std::vector<std::string>& texts);

// How a graph is cut, and what that costs by the model.
struct Cutting {
    Mesh mesh;
    std::vector<std::vector<std::string>> axes;  // by OperationId and dimension of the mesh; empty: none
    std::vector<sharding::Cut> cuts;             // by OperationId
    double compute_seconds = 0, send_seconds = 0;
    std::vector<int64_t> out, in;  // bytes that each place sends and receives, gathering the outputs included
    int64_t bytes = 0;
};

// Cuts that are said hold; others are those that cost least, one operation after another. Each of `readers` gets all
// outputs. Codes: placement.cut_name (no operation has the axis that is said), those of sharding::boxes_by and
// sharding::place.
Result<Cutting> choose_cuts(const Graph& graph, const SaidCuts& said, const System& system,
                            const std::vector<sharding::PlaceId>& readers);

}  // namespace heddle::placement
