// Steps between the graphs of a model: nodes that are no operations on tensors (onnx::is_step). Loops run bodies, which are
// graphs that run in stages themselves; what a loop collects is stacked. Lists are values of steps alone.
#pragma once

#include "inference/staged_model.h"

namespace heddle::inference {

struct StepCall {
    const onnx::OnnxNode& node;
    std::vector<Value> inputs;  // one of the node's each; an absent optional is an empty value
    StagedGraph& graph;         // that holds the node
    const NamedValues& values;       // what is there: graphs within the node may read them
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
// The graph's results for its own inputs, in order.
Result<std::vector<Value>> run_body(StepCall& call, const onnx::OnnxGraph& body, std::vector<Value> inputs);

}  // namespace heddle::inference
