// What is said of how a graph is cut: on a command line, or in a file that a search has written.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "placing/cut_costs.h"
#include "support/source_text.h"

namespace heddle::placing {

// That one dimension of the mesh cuts this axis of an operation.
struct SaidCut {
    // An empty operation: all that have the axis. An axis has a name, or goes along a dimension of this name ("batch");
    // "@1": none, and only places of coordinate 1 compute; an empty one: it cuts none.
    std::string operation, axis;
    size_t dimension = 0;
};

// That parts of an axis are taken one after another: "batch/8" (sharding::Cut::turns).
struct SaidTurns {
    std::string operation, axis;
    int64_t count = 1;
};

struct SaidCuts {
    Mesh mesh;
    std::vector<SaidCut> cuts;
    std::vector<SaidTurns> turns = {};
    // Of each dimension of the mesh whether its places are the stages of a pipeline: each computes some operations after
    // those of the one before, by modelled seconds as many as the others. Empty: of none.
    std::vector<bool> stages = {};
    // Of a file: the program that it is for, as the rules make it. Empty: any.
    std::string program = {};
    std::vector<std::string> rules = {};
};
// Texts of commands: "in_row=2,y.k=4" is a mesh of 2 by 4 whose dimensions cut `in_row` of all operations that have it
// and `k` of the operation y, "4" a mesh without a word on cuts, "stages=4" a pipeline, "batch/8" eight turns. Each speaks of the dimensions of one mesh, which all of
// them must agree in; or a file's name, "cuts.json", alone. Codes placing.cut_syntax, placing.cut_mesh, those of
// read_file and read_cuts.
Result<SaidCuts> parse_cuts(const std::vector<std::string>& texts);

// A file: {"mesh": [2, 2], "cuts": {"y": ["in_row", null]}}: for each operation an axis, or none, for each dimension of the
// mesh. Operations that it does not name are left to costs. It may say what "program" it is for (digest_of), and which "rules"
// make it of the one that is given. Code placing.cut_file, with places in the text.
Result<SaidCuts> read_cuts(const std::shared_ptr<const SourceText>& text);
// By OperationId and dimension of the mesh the axis's name; empty: none. `rules`: those that have made the graph. What
// read_cuts reads.
std::string print_cuts(const Graph& graph, const Mesh& mesh, const std::vector<std::vector<std::string>>& axes,
                       const std::vector<std::string>& rules);

// Of what its results need: operations by name and operator, and what they read of one another, of whatever sizes.
std::string digest_of(const Graph& graph);
// Whether the cuts are of this program. Code placing.cut_program.
Result<void> check_program(const SaidCuts& said, const Graph& graph);

}  // namespace heddle::placing
