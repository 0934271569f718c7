// The graphs of one stage of a model, for sizes that data decide (step_builder.cpp).
#pragma once

#include "artefact/step_program.h"
#include "artefact/step_scope.h"
#include "frontends/onnx/flatten.h"
#include "frontends/onnx/import.h"

namespace heddle::artefact {

// What is left to do of a graph, and what is known then.
struct StepState {
    std::vector<onnx::OnnxNode> rest;
    std::map<std::string, bool> truths;  // conditions that are known on this way
    std::set<std::string> asked;         // values by which the rest is decided
    ValueTypes values;
};

// What a part gives, and what is left behind it.
struct StageEnd {
    std::string key;
    std::vector<std::string> results;
    std::vector<ValueType> types;
    std::vector<onnx::OnnxNode> rest;
    std::vector<onnx::OnnxTensor> initializers;
    std::set<std::string> asked;
};

// Nodes that have nothing to do with one another: none reads what another piece makes.
std::vector<std::vector<onnx::OnnxNode>> pieces_of(const std::vector<onnx::OnnxNode>& nodes);
// Only what the rest still needs is left: so that ways that differed come together again.
void forget(const StepScope& scope, StepState& state);
// Code artefact.steps.
std::unexpected<Diagnostics> not_yet(std::string summary, std::string reason, const onnx::OnnxNode* node = nullptr);

// The graphs of a state's stage, for sizes.
class StageImport {
public:
    StageImport(const StepRequest& request, const StepScope& scope, const StepState& state, int32_t open)
        : request_(request), scope_(scope), state_(state), open_(open) {}

    // Which values it reads, and which of them are sizes; that one of these (`open_`) is -1. Code artefact.steps.
    Result<void> prepare();

    std::vector<Dimension> dimensions() const;

    Result<Graph> graph(const SizeNames& sizes);

    struct Known {
        std::string value;
        int32_t element = 0;
        std::string size;  // empty: it is -1
    };
    std::vector<std::string> inputs;
    std::vector<Known> known_names;
    std::vector<StageEnd> ends;        // by tag
    std::set<std::string> also_asked;  // inputs
    Diagnostics left_out_for;          // why the model does not hold for the first sizes that were left out

private:
    bool is_open() const { return std::ranges::any_of(dimensions(), &Dimension::is_open); }
    // Data may decide more than the model holds for, as more rows than there are: runs tell it then.
    bool may_leave_out() const { return is_open() && left_out_ < most_left_out; }

    Graph left_out(SizeFacts facts, Diagnostics why);

    // A number that a node asks for itself counts what it is given ("NODE#0"): it is at most as many elements.
    int64_t greatest(const std::string& size) const;

    int64_t most_elements(const ValueType& type) const;

    // A value of the type whose elements are these sizes, or 1.
    TensorData example(const std::string& name, const SizeNames& sizes) const;

    std::unexpected<Diagnostics> not_a_size(const std::string& name, const ValueType& type) const;

    // The nodes as a model of their own.
    onnx::OnnxModel model() const;

    TensorData truth_data(const std::string& name, bool truth) const;

    void ask_for_origins(const onnx::ImportedStage& stage);

    // Which end it is; values of inputs that decide are told first.
    Result<void> end_with(onnx::ImportedStage& stage);

    const StepRequest& request_;
    const StepScope& scope_;
    const StepState& state_;
    const int32_t open_;
    std::set<std::string> names_;
    int64_t tag_ = 0;
    // Data may decide any sizes: what more kinds of them need is left out, and told when the program runs.
    static constexpr int most_plans = 256, most_left_out = 256;
    int asked_for_ = 0, left_out_ = 0;
};

}  // namespace heddle::artefact
