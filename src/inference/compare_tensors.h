// The tensors that a plan's kernels compute, one by one against an independent computation.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "evaluate/compare.h"
#include "inference/engine.h"
#include "support/progress.h"

namespace heddle::inference {

// A whole tensor of the graph that launches wrote, with what these launches read.
struct Computed {
    std::string name;
    TensorId tensor = no_id;
    TensorData data;
    bool copy = false;        // only put into another layout
    std::set<TensorId> read;  // whole tensors of the graph, in whatever layout
};

// All that a plan of its own memory for every buffer computes, in the order in which it is written.
// `options` say how it is planned, and the plan's notes what there is to say of that.
Result<std::vector<Computed>> compute(const Graph& graph, const std::vector<TensorData>& feeds, Engine& engine,
                                      plan::PlanOptions options, Diagnostics* notes = nullptr);

// Who is told how far the interpreter is, when it takes long, and may end it.
struct Watcher {
    std::function<void(const std::string& text)> told;  // may be empty
    Progress* progress = nullptr;                       // only asked whether it is cancelled
};

struct Verdict {
    std::string name, type, operation;
    BoundedComparison comparison;
    std::vector<int64_t> place;  // coordinates of the worst element
    std::string found, expected;
    double bound = 0;
};

// Each tensor against the interpreter, from those that its kernel read, as they were computed: bounds then stay those
// of one kernel, however deep the model is, and the first tensor outside is one that is computed wrongly. Codes:
// cli.no_reference (an operation without a body), and those of the evaluator.
Result<std::vector<Verdict>> compare_with_reference(const Graph& graph, const std::vector<TensorData>& feeds,
                                                    const std::vector<Computed>& computed, const Watcher& watcher = {});

// Each tensor against another plan's value of it, within the bounds of the whole way from the model's inputs. Deep in a
// model these are wide: the reference is the sharper check.
Result<std::vector<Verdict>> compare_with_other(const Graph& graph, const std::vector<TensorData>& feeds,
                                                const std::vector<Computed>& computed,
                                                const std::vector<Computed>& other, const Watcher& watcher = {});

// All tensors of a graph, computed fused, with the interpreter, or with what is computed without fusion.
struct ComparisonOptions {
    bool unfused = false;
    Progress* progress = nullptr;
    std::function<void(const std::string& text)> told = {};  // of the interpreter
    Diagnostics* notes = nullptr;                            // of plans
};
Result<std::vector<Verdict>> compare_tensors(Graph graph, std::vector<TensorData> feeds, Engine& engine,
                                             const ComparisonOptions& options);

// Outputs of a whole model with expected ones, by the tolerances of docs/equality.md.
struct OutputVerdict {
    std::string name;
    bool equal = false;  // of the same type, too
    ModelComparison comparison;
    std::string text;
};
std::vector<OutputVerdict> compare_outputs(const std::vector<std::string>& names, const std::vector<TensorData>& found,
                                           const std::vector<TensorData>& expected);
std::string outputs_json(const std::vector<OutputVerdict>& verdicts, const std::string& with);

// What `heddle compare` prints of them. `with`: "reference".
bool all_within(const std::vector<Verdict>& verdicts);
std::string verdicts_json(const std::vector<Verdict>& verdicts, const std::string& with);
std::string verdicts_text(const std::vector<Verdict>& verdicts, const std::string& with);

}  // namespace heddle::inference
