// Where each operation of a graph runs, where each tensor lies, and which tensors are copied (docs/systems.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "placing/costs.h"
#include "placing/devices.h"
#include "placing/wish.h"

namespace heddle::placing {

// A tensor brought to a memory, once, for all that read it there.
struct Copy {
    TensorId tensor;
    MemoryId to;
    Route route;           // from where the tensor lies
    bool at_load = false;  // of a constant: when the program is loaded, not when it runs
};

// Why an operation is where it is.
struct Decision {
    enum class Rule : uint8_t {
        annotated,   // it is annotated, or what it makes, or what makes another part of that
        neighbours,  // all annotated ones around it are here, and nothing else is
        cheapest,    // by modelled seconds
    };
    Rule rule = Rule::cheapest;
    std::string cause;       // of annotated: what is; of neighbours: one of them
    double seconds = 0;      // modelled, of the operation here
    Location next;           // cheapest: the second best place, if there is one (device is not no_id)
    double compute = 0;      // by how many seconds it would take longer there, alone ...
    double copies = 0;       // ... and the copies with it
    bool by_memory = false;  // a place that is cheaper has not the memory
};

struct Placement {
    std::vector<Location> operations;  // by OperationId
    std::vector<MemoryId> tensors;     // by TensorId: where it is made or comes from; nothing copies what nothing reads
    MemoryId caller = no_id;           // where inputs come from and outputs go to that are not annotated
    // Which operations only take boxes of inputs and constants: each step that reads one has it for itself. Empty: none.
    std::vector<bool> slices = {};
    std::vector<int32_t> turns = {};    // by OperationId (sharding/shard.h); empty: one
    std::vector<MemoryId> others = {};  // further callers: each gives all inputs in this memory of its own ...
    std::vector<TensorId> given = {};   // ... but these, which come where they lie, behind the others
    std::vector<Copy> copies;           // by tensor, then memory
    // What each caller gets, those of `others` behind the first one's; empty: the first gets the graph's outputs.
    std::vector<std::vector<TensorId>> results = {};
    std::vector<Decision> decisions;               // by OperationId
    double compute_seconds = 0, copy_seconds = 0;  // modelled, of a run, one after the other
    std::vector<int64_t> peak_bytes;               // by MemoryId: constants, and what lives at once, before fusion
};

struct PlaceOptions {
    DeviceId caller = no_id;  // none: the system's host, or its first device
    // What may be chosen where nothing is annotated; empty: the first scope of each device but outside libraries.
    std::vector<Location> candidates = {};
};

// Operations are placed
//   1. where they, or what they make, are annotated;
//   2. else, if all annotated operations and tensors that they are connected with, over others that are not annotated,
//      are at one location, and no input or output of the caller is: there;
//   3. else where modelled seconds of all operations and copies together are least.
// A tensor lies where it is made; an input at the caller, or where it is annotated; a constant where it is annotated, or
// where it is first read. Where a memory is too small, what would lie there pays for it, ever more, until the rest fits.
// Codes: placing.conflict (annotations that contradict one another, both named), placing.memory (a memory is too
// small), placing.no_way (no link leads to where a tensor is read), those of locations_for.
Result<Placement> place(const Graph& graph, const System& system, const Annotations& annotations,
                        const PlaceOptions& options = {});

// An independent check: annotations hold, operations that write one tensor run at one location, tensors lie where they
// are made; each tensor is copied once to each other memory where it is read, along links that there are, and to none
// else. Code placing.broken: our own mistake.
Result<void> verify(const Graph& graph, const System& system, const Annotations& annotations,
                    const Placement& placement);

// A table of operations with why each is where it is, then of copies, then sums and memory.
std::string print(const Graph& graph, const System& system, const Placement& placement);
std::string print_json(const Graph& graph, const System& system, const Placement& placement);

}  // namespace heddle::placing
