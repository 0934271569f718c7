// The cuts that each operation of a graph may have over a mesh, with what each costs. Equal operations, as layers of a model
// have them, share them.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "placing/cut_costs.h"
#include "placing/said_cuts.h"
#include "support/thread_pool.h"

namespace heddle::placing {

// Operations of one body on tensors of equal types, of which fusion makes the same, in whatever graph place: their axes are
// the same.
struct OperationKind {
    OperationId first;
    std::vector<sharding::Axis> axes;
    InProgram in;
};
struct OperationKinds {
    std::vector<OperationKind> kinds;
    std::vector<int32_t> of;  // by OperationId
    const OperationKind& kind(OperationId operation) const { return kinds[static_cast<size_t>(of[operation])]; }
};
// `target`: of a place, which decides what is fused.
OperationKinds kinds_of(const Graph& graph, const Target& target);

struct CutChoice {
    AxesOfMesh axes;
    sharding::Cut cut;
    CutCost cost;
    double seconds = 0;    // of the place that takes longest
    int64_t launches = 0;  // the most of a place
};

// By dimension of the mesh; empty: none.
std::vector<std::string> axis_names(const OperationKind& kind, const CutChoice& choice);

struct CutTable {
    std::vector<std::deque<CutChoice>> of_kind;
    // By OperationId; at least one, not cut at all first where it may be.
    std::vector<std::vector<const CutChoice*>> choices;
};

// Of a link; of a system the slowest.
struct LinkFigures {
    double bandwidth = 0, latency = 0;
};
LinkFigures link_figures(const System& system);

// Cuts that are said hold; where nothing is, an operation may be cut along every axis that has a point for each place, but
// for those that scans run over: their parts wait for one another, which costs do not say.
// Codes: placing.cut_name (nothing has the axis or name that is said), those of sharding::boxes_by and sharding::place.
Result<CutTable> cut_table(const Graph& graph, const OperationKinds& kinds, const SaidCuts& said, const System& system,
                           ThreadPool* pool);

}  // namespace heddle::placing
