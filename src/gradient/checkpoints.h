// Scans that keep their states at some steps only, so that a reverse pass has them: it works out again what lies
// between, segment by segment, and takes the memory of some states and not of all.
//
// A scan of T steps keeps every k-th state. For k about sqrt(T) what is kept and the states of one segment are about
// 2 * sqrt(T) states, at one more forward computation (Chen, Xu, Zhang, Guestrin: Training deep nets with sublinear
// memory cost, 2016; JAX's checkpointed scans). Revolve (Griewank, Walther, 2000) needs fewer states, for more
// computations.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "graph/graph.h"

namespace heddle::gradient {

// Of one scan.
struct Checkpoints {
    std::shared_ptr<const Body> body;  // the operation's own, which has no such outputs
    int64_t every = 0;                 // steps
    // Of each state that a reverse pass needs, the output of the operation that has it: element c is the state before
    // step c * every, the last one the state behind the last step.
    std::map<LocalId, int32_t> outputs;
};

// Segments of a scan with so many steps.
Size segments_of(const Size& steps, int64_t every);

struct ScanSteps {
    Size steps;
    int64_t bytes = 0;  // of the states before one step
};
// How many steps lie between what is kept of a scan; 0: it keeps nothing.
using StepsBetween = std::function<int64_t(const ScanSteps&)>;
// About the square root of the steps; `every`, if it is not 0.
StepsBetween every_steps(int64_t every);

bool has_scan(const Graph& graph);

struct CheckpointedGraph {
    Graph graph;
    std::map<OperationId, Checkpoints> of;

    // Of which state a tensor is a checkpoint; what a tape says of it.
    std::optional<LocalId> state_of(TensorId id) const;
    bool is_checkpoint(TensorId id) const { return state_of(id).has_value(); }
    std::string reason(TensorId id) const;  // empty: it is none
};

// The graph, whose operations with one scan have further outputs, where their adjoints need its states and a segment
// by itself is enough (reverse_by_segments). Tensors keep their numbers.
CheckpointedGraph checkpointed(Graph graph, const StepsBetween& between);

}  // namespace heddle::gradient
