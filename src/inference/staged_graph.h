// A graph that runs in stages: the model's own, or the body of a loop. A stage ends where an application asks for a value that
// only a run can tell. With the value, the nodes that waited are the next stage; integers are sizes in it, so that its program
// holds for others, too. What comes behind a stage is the same for all sizes for which its plan holds.
//
// A loop runs its body again and again, so nothing is looked up by a text on the way: names have numbers, and what is found for
// a stage is kept with it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "frontends/onnx/import.h"
#include "inference/program_cache.h"
#include "inference/value.h"

namespace heddle::inference {

struct RunWatch {
    Progress* progress = nullptr;
    std::vector<runtime::LaunchTime>* profile = nullptr;
    WorkLimit limit = {};      // of the whole run
    double* spent = nullptr;   // of it, so far: who runs graphs one after another counts
};

// How many scalar operations an iteration or a stage counts for beside those of its program: it takes about as long.
inline constexpr double work_of_iteration = 1e4;
// Code evaluate.too_much_work.
Result<void> spend(const RunWatch& watch, double operations);

// What computes a stage: its part of the program, its inputs, and what makes its graph for them.
using RunPart = std::function<Result<ProgramCache::Results>(const ProgramCache::Part&, std::span<const Value* const>,
                                                            const Specialise&, const RunWatch&)>;

// What all graphs of a model share.
struct Staging {
    const onnx::OnnxModel& model;
    const Library& library;
    RunPart run;
};

class StagedGraph {
public:
    // `around`: the graph whose node holds this one, or null; `name` tells apart the graphs of a model.
    StagedGraph(const Staging& staging, const onnx::OnnxGraph& graph, StagedGraph* around, std::string name);
    ~StagedGraph();

    // ---- a run: values are set, then it runs

    // Of a name, always the same.
    int32_t number_of(const std::string& name);
    void set(int32_t number, Value value) { values_[static_cast<size_t>(number)].value = std::move(value); }
    // What it reads of the graph around it is as it is there now, for all runs until `let_go`.
    void capture();
    void let_go();
    // One value an output; what was set is gone. Codes: those of import_stage, of compiling and running, of steps.h,
    // onnx.undefined_value.
    Result<std::vector<Value>> run(const RunWatch& watch);

    // Of inputs, by their place: which number, and whether anything reads it.
    int32_t input_number(size_t input) const { return inputs_[input].number; }
    bool reads_input(size_t input) const { return inputs_[input].is_read; }
    int64_t opset_of(const onnx::OnnxNode& node) const;
    // The graph of a node of this one.
    StagedGraph& within(const onnx::OnnxGraph& graph);

private:
    struct Continuation;  // what is left to do
    struct StageEnd;      // what a stage's program gives
    struct StageInputs;
    struct PlannedStep;
    struct NamedValue {
        std::string name;
        std::optional<Value> value;  // nothing: it is not there (yet)
        bool is_held = false;        // for other runs too
    };
    struct GraphInput {
        int32_t number = -1;
        bool is_read = false;
    };

    const onnx::OnnxTensor* initializer(const std::string& name) const;
    std::optional<Value>& at(int32_t number) { return values_[static_cast<size_t>(number)].value; }
    bool is_there(const std::string& name) { return at(number_of(name)).has_value(); }
    std::vector<int32_t> numbers_of(const std::set<std::string>& names);
    std::optional<Value> value_of(int32_t number, bool take);
    Result<void> check_reads();
    Result<std::vector<Value>> run_all(const RunWatch& watch);
    Result<std::vector<Value>> take_results();
    void forget_but(const std::vector<int32_t>& needed);
    Continuation* follow(std::vector<onnx::OnnxNode> nodes, std::set<std::string> asked, const std::string& lists = {});
    Continuation* fitting(Continuation& at);
    PlannedStep planned(const onnx::OnnxNode& node);
    Result<void> run_steps(Continuation& at, const RunWatch& watch);
    Result<void> run_step(const PlannedStep& step, const RunWatch& watch);
    void split(Continuation& at, std::vector<PlannedStep> steps, std::vector<onnx::OnnxNode> others);
    Result<Continuation*> run_stage(Continuation& at, const RunWatch& watch);
    void take_inputs(Continuation& at);
    Result<Graph> import(Continuation& at, Progress* progress);
    Result<Graph> end_stage(Continuation& at, onnx::ImportedStage stage);
    StageEnd end_of(Continuation& at, std::vector<std::string> results, Graph& graph);
    onnx::OnnxModel part_of(const Continuation& at) const;

    const Staging& staging_;
    const onnx::OnnxGraph& graph_;
    StagedGraph* around_;
    std::string name_;
    std::deque<NamedValue> values_;  // by number
    std::map<std::string, int32_t> numbers_;
    std::vector<std::pair<int32_t, int32_t>> captures_;  // numbers around it and here
    std::vector<GraphInput> inputs_;
    std::set<std::string> outputs_;
    std::vector<int32_t> output_numbers_;
    std::map<std::string, onnx::OnnxTensor> initializers_;
    std::map<std::string, std::unique_ptr<Continuation>> continuations_;  // by what is left
    Continuation* first_ = nullptr;
    bool is_checked_ = false;
    int64_t stages_run_ = 0;
    std::vector<StageEnd> ends_;  // by tag
    std::map<const onnx::OnnxGraph*, std::unique_ptr<StagedGraph>> within_;
};

}  // namespace heddle::inference
