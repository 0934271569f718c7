// ONNX models whose sizes, branches and trip counts follow from data. They run in stages (staged_graph.h): graphs that compiled
// programs compute, and steps between them: loops, and lists of tensors (steps.h).
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "inference/staged_graph.h"

namespace heddle::inference {

RunPart compiled_by(ProgramCache& programs);  // which outlives it
RunPart interpreted();                        // by the interpreter of bodies, which makes each graph anew

// Whether a model that is no one graph for what is given, as the problems say, is several.
bool needs_stages(const Diagnostics& problems);
// Whether a graph holds for values of inputs that are more than a few numbers: it would hold for little else.
bool holds_for_little(const Graph& graph);

// A model with its programs. `model` and `library` outlive it. `bindings`: numbers of open dimensions.
class StagedModel {
public:
    StagedModel(const onnx::OnnxModel& model, const Library& library, RunPart run,
                std::map<std::string, int64_t> bindings);
    // One value an output, for one a caller's input; those that nothing reads may be empty. Threads wait for each other.
    Result<std::vector<Value>> run(std::vector<Value> inputs, const RunWatch& watch);

private:
    Staging staging_;
    std::map<std::string, int64_t> bindings_;
    onnx::OnnxModel declared_;  // the caller's inputs and nothing else: a run looks at no more
    StagedGraph graph_;
    std::mutex running_;
};

}  // namespace heddle::inference
