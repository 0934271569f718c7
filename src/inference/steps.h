// Steps between the graphs of a model: nodes that are no operations on tensors (onnx::is_step). Loops run bodies, which are
// graphs that run in stages themselves; what a loop collects is stacked. Lists are values of steps alone.
#pragma once

#include "inference/staged_graph.h"

namespace heddle::inference {

struct StepCall {
    const onnx::OnnxNode& node;
    std::vector<Value> inputs;  // one of the node's each; an absent optional is an empty value
    StagedGraph& graph;         // that holds the node, with what is there: graphs within the node may read it
    const RunWatch& watch;
};

// One value an output. Codes: inference.step (the node lacks what it needs, or its body has other values than it takes),
// inference.list (a place outside of a list, parts that do not fit together), those of running its graphs, support.cancelled.
Result<std::vector<Value>> run_step(StepCall& call);

// ---- for the kinds of steps

using Step = Result<std::vector<Value>> (*)(StepCall&);
Result<std::vector<Value>> run_loop(StepCall& call);
Result<std::vector<Value>> run_map(StepCall& call);
// Null: no step on lists has the name. `Identity` and `If` are ones where they are given lists.
Step list_step(const std::string& operator_type);

std::unexpected<Diagnostics> wrong_step(const StepCall& call, std::string summary, std::string expected = {},
                                        std::string found = {});
// A tensor of one integer, of one truth value; nothing: it is none.
std::optional<int64_t> number_of(const Value& value);
std::optional<bool> condition_of(const Value& value);
// Both are tensors of one type, or lists.
bool same_kind(const Value& a, const Value& b);
// Runs of a graph within the node, one after another.
class BodyRuns {
public:
    BodyRuns(StepCall& call, const onnx::OnnxGraph& body);
    ~BodyRuns() { graph_.let_go(); }
    BodyRuns(const BodyRuns&) = delete;
    BodyRuns& operator=(const BodyRuns&) = delete;

    // Of its own inputs. None need be given that nothing reads.
    bool reads(size_t input) const { return graph_.reads_input(input); }
    void give(size_t input, Value value);
    // Its results for them.
    Result<std::vector<Value>> run();

private:
    StagedGraph& graph_;
    const RunWatch& watch_;
};

}  // namespace heddle::inference
