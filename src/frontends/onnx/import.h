// An ONNX model as a graph of operations: every node becomes an application of the template that stands for its
// operator.
// Attributes are parameters by name, a tensor-valued attribute an input of its name; nothing here knows an operator.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "frontends/onnx/model.h"
#include "frontends/onnx/weights.h"
#include "graph/graph.h"
#include "language/library.h"
#include "symbolic/session.h"

namespace heddle::onnx {

// A dimension that the model leaves open: its name, or "INPUT.POSITION" where the model gives none.
struct OpenDimension {
    std::string name;
    size_t input = 0;  // the first input that has it
    size_t position = 0;
};
std::vector<OpenDimension> open_dimensions(const OnnxModel& model);

// The inputs that a caller gives: the graph's, without initializers of the same name.
std::vector<const OnnxValue*> caller_inputs(const OnnxModel& model);
// Inputs of the graph that have initializers: a caller may give them, and their initializers stand for them else.
std::vector<const OnnxValue*> overridable_inputs(const OnnxModel& model);
// The model in which those of `names` that are such inputs have no initializers, so that callers give them; nothing:
// none of the names is one.
std::optional<OnnxModel> without_initializers(const OnnxModel& model, const std::set<std::string>& names);
// One a caller's input: whether a node or an output of the model reads it. Only such are inputs of the model's Graph.
std::vector<bool> read_inputs(const OnnxModel& model);

// The name of dimension `position` of a caller's input where it is open, else an empty text.
std::string open_name(const OnnxValue& input, size_t position);

// What is said where an input that is a list is wanted as one of a graph.
Diagnostic list_input(const OnnxValue& input);

// Numbers for open dimensions from the shapes of given tensors, by caller input; an empty shape pointer says nothing.
// Codes: onnx.input_rank, onnx.input_shape (a fixed dimension differs, or one name has two numbers).
Result<std::map<std::string, int64_t>> bind_shapes(const OnnxModel& model,
                                                   const std::vector<const std::vector<int64_t>*>& shapes,
                                                   std::map<std::string, int64_t> bindings);

// What of a model is fixed before it is a graph.
struct ImportOptions {
    std::map<std::string, int64_t> bindings;  // numbers for open dimensions
    // Values that caller inputs, and weights that are inputs, will have. One is looked at only where a shape or a branch depends on it; the graph
    // then holds for that value alone.
    std::map<std::string, TensorData> values;
    // Names of weights (weights.h) that are inputs of the graph, behind the others, and not constants of it.
    std::set<std::string> free_weights = {};
    Progress* progress = nullptr;  // told each node (stage symbolic), and asked whether to go on
};

struct ImportedModel {
    Graph graph;
    std::vector<std::string> deciding_inputs;  // the inputs that are decided (graph/graph.h)
    std::vector<OnnxWeight> free_weights;      // that the model has in this form: the graph's last inputs, in order
};

// The graph of a model. An `If` is the branch that its condition takes: a graph has no control flow, so the condition
// must be known, or follow from the given values. All errors of independent nodes at once, each with the node's name;
// what depends on a result that is wrong is not looked at.
// A call of one of the model's functions is the function's nodes, named after the call.
// Codes: those of check_support, onnx.unbound_dimension, onnx.open_branch, onnx.branch, onnx.undefined_value,
// onnx.duplicate_value, onnx.step (a loop or a list, which no graph holds), onnx.function_call,
// onnx.unknown_attribute, onnx.attribute, onnx.input_type,
// support.cancelled (alone), and those of applying templates.
Result<ImportedModel> import_model(const OnnxModel& model, const Library& library, const ImportOptions& options);

// ---- stages: models whose sizes, branches and trip counts follow from data

// The numbers that a value of integers stands for where sizes follow from it: names of sizes by element, an empty one where
// the number is negative and so no size. Nothing: it is none that a size follows from.
std::optional<std::vector<std::string>> size_names(const std::string& value, const TensorData& data);

struct StageOptions {
    std::map<std::string, TensorData> known;  // values with size_names: no inputs, but what sizes follow from
    std::set<std::string> wanted;             // values that are results of the whole, whichever stage makes them
    std::set<std::string> lists;              // values that are no tensors: who reads them waits
};

// What of a model can be computed before more is known.
struct ImportedStage {
    Graph graph;
    std::vector<std::string> results;         // what the graph's outputs are called
    std::vector<OnnxNode> rest;               // nodes that wait, and those that follow from sizes alone and are read by them
    std::vector<OnnxTensor> initializers;     // of branches whose nodes are among them
    std::vector<std::string> asked;           // values by which the rest is decided: results, or inputs
    bool has_written = false;  // nodes of a branch in place of an `If`
    Diagnostics waiting;  // what is told of the nodes that ask, where nothing answers them
};

// The model's graph is one without calls (flatten.h) and without outputs. Its nodes run in order, but those wait that
// are steps (model.h), ask for a value that only a run can tell, or read what such nodes make. Results are what the rest
// reads and the wanted values. Codes: those of import_model.
Result<ImportedStage> import_stage(const OnnxModel& model, const Library& library, const ImportOptions& options,
                                   const StageOptions& stage);

// A model as calls of operators, before it is a graph: what rewrite rules work on. Nodes whose templates consist of
// calls are those calls. Codes as above.
struct ImportedCalls {
    Session session;
    std::vector<TensorId> outputs;
    std::map<std::string, int64_t> dimension_names;
    std::vector<OnnxWeight> free_weights;
};
Result<ImportedCalls> import_calls(const OnnxModel& model, const Library& library, const ImportOptions& options);

// How many of a model's nodes, those of branches and of functions with them, have a template; `If` and calls of
// functions need none.
struct Coverage {
    int64_t nodes = 0, covered = 0;
    int64_t operators = 0;  // different ones
};
Coverage coverage_of(const OnnxModel& model, const Library& library);

// What import_model refuses whatever the sizes are: operators, types, opsets, data that are not there. Empty: nothing.
// Codes: onnx.unsupported_operator (with counts), onnx.unsupported_dtype, onnx.opset, and those of ExternalData.
Diagnostics check_support(const OnnxModel& model, const Library& library);

}  // namespace heddle::onnx
