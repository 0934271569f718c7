// ONNX models whose sizes, branches and trip counts follow from data. They run in stages: graphs that compiled programs
// compute, and steps between them: loops, and lists of tensors (steps.h). A stage ends where an application asks for a
// value that only a run can tell. With the value, the nodes that waited are the next stage; integers are sizes in it, so
// that its program holds for others, too. What comes behind a stage is the same for all sizes for which its plan holds.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "frontends/onnx/import.h"
#include "inference/program_cache.h"
#include "inference/value.h"

namespace heddle::inference {

// What names stand for while a model runs; none of them grows.
using NamedValues = std::map<std::string, Value>;

struct RunWatch {
    Progress* progress = nullptr;
    std::vector<runtime::LaunchTime>* profile = nullptr;
};

// What computes a stage: its part of the program, its inputs, and what makes its graph for them.
using RunPart = std::function<Result<ProgramCache::Results>(const ProgramCache::Part&, const std::vector<TensorData>&,
                                                            const Specialise&, const RunWatch&)>;
RunPart compiled_by(ProgramCache& programs);  // which outlives it
RunPart interpreted();                        // by the interpreter of bodies, which makes each graph anew

// What all graphs of a model share.
struct Staging {
    const onnx::OnnxModel& model;
    const Library& library;
    RunPart run;
};

// One graph of the model: its own, or the body of a loop.
class StagedGraph {
public:
    // `around`: the graph whose node holds this one, or null; `name` tells apart the graphs of a model.
    StagedGraph(const Staging& staging, const onnx::OnnxGraph& graph, StagedGraph* around, std::string name);
    ~StagedGraph();

    // One value an output, for values of its inputs and of what it reads of the graphs around. Codes: those of
    // import_stage, of compiling and running, of steps.h, onnx.undefined_value.
    Result<std::vector<Value>> run(NamedValues values, const RunWatch& watch);

    const std::set<std::string>& captures() const { return captures_; }
    int64_t opset_of(const onnx::OnnxNode& node) const;
    // The graph of a node of this one.
    StagedGraph& within(const onnx::OnnxGraph& graph);

private:
    struct Continuation;  // what is left to do
    struct StageEnd;      // what a stage's program gives
    struct Inputs;        // of a stage

    const onnx::OnnxTensor* initializer(const std::string& name) const;
    std::optional<Value> value_of(const std::string& name, const NamedValues& values) const;
    Result<void> check_reads(const NamedValues& values) const;
    Continuation* follow(std::vector<onnx::OnnxNode> nodes, std::set<std::string> asked, const std::string& lists = {});
    Continuation* fitting(Continuation& at, const NamedValues& values);
    Result<void> run_steps(Continuation& at, NamedValues& values, const RunWatch& watch);
    Result<void> run_step(const onnx::OnnxNode& node, NamedValues& values, const RunWatch& watch);
    void split(Continuation& at, std::vector<onnx::OnnxNode> steps, std::vector<onnx::OnnxNode> others);
    Result<Continuation*> run_stage(Continuation& at, NamedValues& values, const RunWatch& watch);
    Inputs inputs_of(Continuation& at, const NamedValues& values) const;
    Result<Graph> import(Continuation& at, const Inputs& inputs, const NamedValues& values, Progress* progress);
    Result<Graph> end_stage(Continuation& at, onnx::ImportedStage stage, const Inputs& inputs,
                            const NamedValues& values);
    onnx::OnnxModel part_of(const Continuation& at, const Inputs& inputs) const;

    const Staging& staging_;
    const onnx::OnnxGraph& graph_;
    StagedGraph* around_;
    std::string name_;
    std::set<std::string> captures_, outputs_;
    std::map<std::string, onnx::OnnxTensor> initializers_;
    std::map<std::string, std::unique_ptr<Continuation>> continuations_;  // by what is left
    Continuation* first_ = nullptr;
    bool is_checked_ = false;
    std::vector<StageEnd> ends_;  // by tag
    std::map<const onnx::OnnxGraph*, std::unique_ptr<StagedGraph>> within_;
};

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
