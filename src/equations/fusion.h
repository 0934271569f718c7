// From a system, as the passes leave it, to kernels: common axes, greedy grouping under a cost model.
// Rules and their reasons: docs/equations.md.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "equations/system.h"
#include "target/target.h"

namespace heddle::equations {

// Of an equation alone that reads and writes more buffers than this, parts become equations of their own.
void limit_buffers(System& system, int64_t most);

// A kernel: which equations, over which common axes.
struct Kernel {
    std::vector<int32_t> equations;  // in order
    // The common axes T, outermost first. Entry t has one axis of each equation that has it (or -1): its tasks are
    // independent over T.
    struct CommonAxis {
        Size extent = 1;
        std::map<int32_t, AxisId> axis_of;  // equation -> axis
    };
    std::vector<CommonAxis> common;
    std::set<int32_t> light;           // equations that may lack a common axis: each task computes them again
    std::vector<TensorIndex> inputs;   // read from buffers, by first use
    std::vector<TensorIndex> outputs;  // written to buffers: read outside of the kernel, or outputs of the system
};

struct Decision {
    std::string producer, reader;  // tensor names
    bool joined = false;
    double gain = 0;     // microseconds of modelled time
    std::string reason;  // empty for a joined pair
};

struct Partition {
    std::vector<Kernel> kernels;                // producers before readers; prepared ones first
    std::vector<bool> prepared;                 // per kernel: of the prepare phase
    std::vector<std::vector<int32_t>> batches;  // run-phase kernels that share a launch, in order
    std::vector<Decision> decisions;
};

struct FusionOptions {
    bool fuse = true;              // false: every equation a kernel of its own (the unfused plan)
    bool one_contraction = true;   // a second contraction only where the tensor between is more than twice its operands
    std::set<int32_t> apart = {};  // equations that nothing is fused with, but for the rest of their scan
};

Partition fuse(const System& system, const Target& target, const FusionOptions& options);
std::string print(const System& system, const Partition& partition);

}  // namespace heddle::equations
