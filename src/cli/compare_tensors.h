// The tensors that a plan's kernels compute, one by one against an independent computation.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "cli/support.h"
#include "evaluate/compare.h"

namespace heddle::cli {

// A whole tensor of the graph that launches wrote, with what these launches read.
struct Computed {
    std::string name;
    TensorId tensor = no_id;
    TensorData data;
    bool copy = false;        // only put into another layout
    std::set<TensorId> read;  // whole tensors of the graph, in whatever layout
};

// All that a plan of its own memory for every buffer computes, in the order in which it is written.
Result<std::vector<Computed>> compute(const Graph& graph, const std::vector<TensorData>& feeds, int threads,
                                      const CacheOptions& cache, bool fuse);

struct Verdict {
    std::string name, type, operation;
    BoundedComparison comparison;
    std::vector<int64_t> place;  // coordinates of the worst element
    std::string found, expected;
    double bound = 0;
};

// Each tensor against the interpreter, from those that its kernel read, as they were computed: bounds then stay those
// of one kernel, however deep the model is, and the first tensor outside is one that is computed wrongly. Says on
// standard error how far it is when it takes long. Codes: cli.no_reference (an operation without a body), and those of
// the evaluator.
Result<std::vector<Verdict>> compare_with_reference(const Graph& graph, const std::vector<TensorData>& feeds,
                                                    const std::vector<Computed>& computed);

// Each tensor against another plan's value of it, within the bounds of the whole way from the model's inputs. Deep in a
// model these are wide: the reference is the sharper check.
Result<std::vector<Verdict>> compare_with_other(const Graph& graph, const std::vector<TensorData>& feeds,
                                                const std::vector<Computed>& computed,
                                                const std::vector<Computed>& other);

}  // namespace heddle::cli
