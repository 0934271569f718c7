// Which axis each operation of a graph is cut along, over a mesh of places: some are said, the rest is chosen by cost.
#pragma once

#include <string>
#include <vector>

#include "placement/cut_costs.h"

namespace heddle::placement {

// That one dimension of the mesh cuts this axis of an operation.
struct SaidCut {
    // An empty operation: all that have the axis. An axis has a name, or goes along a dimension of this name ("batch");
    // an empty one: it cuts none.
    std::string operation, axis;
    size_t dimension = 0;
};

struct SaidCuts {
    Mesh mesh;
    std::vector<SaidCut> cuts;
};
// Texts of commands: "in_row=2,y.k=4" is a mesh of 2 by 4 whose dimensions cut `in_row` of all operations that have it
// and `k` of the operation y, "4" a mesh without a word on cuts. Each speaks of the dimensions of one mesh, which all of
// them must agree in. Codes placement.cut_syntax, placement.cut_mesh.
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
