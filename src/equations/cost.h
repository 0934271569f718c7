// Modelled time of a kernel: launch + max(bytes / bandwidth, operations / rate) of its tasks (docs/equations.md,
// "Fusion").
#pragma once

#include <vector>

#include "equations/common_axes.h"
#include "target/target.h"

namespace heddle::equations {

// What a loop moves while it computes: the longer of the two is its time.
struct Work {
    double bytes = 0;
    double operations = 0;
};

struct KernelCost {
    double seconds = 0;
    double tasks = 1;
    double least_tasks = 1;  // at the least sizes of the classes
    double lanes = 1;        // of these, that are lanes of one workgroup
    double local_bytes = 0;  // of one task's locals
    // A task's reductions that are no contractions (a pooling's windows) have loops of their own, before or after its
    // main one: the arithmetic of that one does not hide what they wait for.
    Work main, reductions;
    // Of weights, what tiles of tasks read again from behind L2, each in front of its sums: little of it is hidden. Measured:
    // 512 rows and their norm by 2.4 MB of weights 4.1 ms, apart 3.5.
    double weights_again = 0;
    double packed_bytes = 0;  // the largest operand that each task reads whole
    double tile = 1;          // tasks that share what they read
    int contractions = 0;
};

// What a kernel with a contraction moves while it multiplies nothing, which its arithmetic does not hide:
// - an operand that all rows share: weights. It comes from memory ahead of the sums of the first rows. Its lanes lie behind one
//   another only once a launch of its own has copied it: of constants once for all runs. Measured: 3 x 3 x 512 x 512 over 7 x 7
//   and 4 x 7 points 2.0 and 1.6 ms, where arithmetic takes 1.16 and 0.66, and 9.4 MB of weights 0.59;
// - what the equations behind sums read and write, where it is more than L2 holds. Measured: 512 of 128 channels, plus 12.8 MB,
//   as many written, 5.9 ms, where arithmetic takes 4.2, and the bytes 1.6.
struct Streamed {
    TensorIndex tensor = no_id;
    double bytes = 0;
    bool copied = false;  // in each run
};

// A kernel's cost with that apart: neither in its seconds nor in its bytes.
struct StreamingCost {
    KernelCost rest;
    std::vector<Streamed> streamed;
};

class CostModel {
public:
    CostModel(const FusionGraph& graph, const Target& target)
        : graph_(graph),
          target_(target),
          finder_(graph),
          read_(graph.tensor_bytes.size()),
          read_stamp_(graph.tensor_bytes.size()) {}

    // `members` in order.
    KernelCost cost(const std::vector<int32_t>& members);
    StreamingCost streaming_cost(const std::vector<int32_t>& members);
    // Modelled seconds of an opaque operation: its launch; what it does is nobody's choice here.
    KernelCost opaque_cost() const;
    CommonAxesFinder& finder() { return finder_; }
    int64_t evaluations() const { return evaluations_; }

private:
    double common_points(const FusionNode& node) const;  // of the node's axes in T
    void add_equation(const FusionNode& node, bool output, KernelCost& cost);
    void add_repeated_reads(const std::vector<int32_t>& members, KernelCost& cost);
    void add_short_register_tiles(const std::vector<int32_t>& members, KernelCost& cost);
    double lanes_in_tasks(const std::vector<int32_t>& members) const;
    double seconds_of(const KernelCost& cost) const;

    const FusionGraph& graph_;
    const Target& target_;
    CommonAxesFinder finder_;
    std::vector<double> read_;  // by tensor: bytes read from its buffer
    std::vector<int> read_stamp_;
    int generation_ = 0;
    int64_t evaluations_ = 0;
};

// Modelled costs of a partition's kernels, each alone: as fusion compares them, and, nearer to the truth, with what is streamed
// apart. (Choices are made by the first, since weights are read whatever is fused.)
std::vector<KernelCost> costs_of(const System& system, const Partition& partition, const Target& target);
std::vector<StreamingCost> streaming_costs_of(const System& system, const Partition& partition, const Target& target);

// Of the kernels that each call runs; those of a batch share a launch.
struct RunCost {
    double seconds = 0, bytes = 0, operations = 0;
};
RunCost run_cost(const System& system, const Partition& partition, const Target& target);

}  // namespace heddle::equations
