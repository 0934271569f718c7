// Finds ahead which steps a model takes: what is left to do, of which types the values are that are there, and which
// truth values are known, is a state; each state is one step, and the same state is the same step.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "artefact/step_stage.h"

namespace heddle::artefact {

class StepBuilder {
public:
    explicit StepBuilder(const StepRequest& request);
    Result<StepProgram> make();

private:
    // ---- values
    Result<void> take_inputs(StepState& state);
    Result<ValueType> type_of_input(const onnx::OnnxValue& input, Diagnostics& problems) const;
    int32_t new_value(const std::string& name);
    int32_t new_value(const std::string& name, const ValueType& type);
    void set_type(int32_t value, const ValueType& type);
    // The place of a value; an initializer is one of constants.
    int32_t value_of(StepScope& scope, const std::string& name);
    std::optional<ValueType> type_in(const StepScope& scope, const StepState& state, const std::string& name) const;
    // What is known where the state begins, but not behind it, is dropped there.
    std::vector<int32_t> drops_between(StepScope& scope, const std::set<std::string>& there, const StepState& behind);

    // ---- steps: the number of the one that the state is; below 0: there is none
    Result<int32_t> step_of(StepScope& scope, StepState state);
    Result<int32_t> end_of(StepScope& scope, const StepState& state);
    // The step itself, which is there, without contents. Another number: the state is that one.
    Result<int32_t> fill(StepScope& scope, StepState state, int32_t step);
    Result<int32_t> add_branch(StepScope& scope, StepState state, const std::string& condition, int32_t step);
    Result<int32_t> add_ways(StepScope& scope, StepRow row, StepState state, StepState other, int32_t step);
    Result<int32_t> add_part(StepScope& scope, StepState state, int32_t step);
    // A row with one step behind it.
    Result<int32_t> add_row(StepScope& scope, StepRow row, StepState behind, int32_t step);
    StepState first_piece(const StepScope& scope, const StepState& state) const;
    StepForm form_of(StepScope& scope, const StepState& state, const StageEnd& end, const StepState& next);

    // ---- lists (step_lists.cpp)
    Result<int32_t> add_presence(StepScope& scope, StepState state, const std::string& value, int32_t step);
    // A node that reads a list, or makes one, and is taken out of the state.
    Result<int32_t> add_list_step(StepScope& scope, StepState state, const onnx::OnnxNode& node, int32_t step);
    Result<int32_t> add_written_branch(StepScope& scope, StepState state, const onnx::OnnxNode& node, int32_t step);

    // ---- loops (step_loops.cpp)
    struct Loop;
    Result<int32_t> add_loop(StepScope& scope, StepState state, const onnx::OnnxNode& node, int32_t step);
    Result<int32_t> add_map(StepScope& scope, StepState state, const onnx::OnnxNode& node, int32_t step);
    Result<int32_t> add_empty_lists(StepScope& scope, StepState state, const onnx::OnnxNode& node, int32_t step);
    Result<int32_t> add_loop_row(StepScope& scope, StepState state, Loop loop, StepRow row, int32_t step);
    Result<void> take_scanned(StepScope& scope, const StepState& state, Loop& loop, StepRow& row);
    Result<std::vector<ValueType>> add_body(StepScope& scope, const StepState& state, Loop& loop, StepRow& row);
    StepState begin_of_body(StepScope& scope, StepScope& inner, const StepState& state, const Loop& loop, StepRow& row);
    Result<bool> widen(Loop& loop, const StepScope& inner, const std::set<std::string>& outside) const;
    Result<std::vector<ValueType>> types_behind(const StepState& state, const Loop& loop, const StepScope& inner,
                                                StepRow& row) const;
    Result<ValueType> stacked_type(const Loop& loop, size_t i, const ValueType& type, StepRow& row) const;

    const StepRequest& request_;
    StepProgram program_;
    StepScope scope_;
    std::vector<std::unique_ptr<StepScope>> scopes_;  // of bodies
};

StepType step_type(const ValueType& type);

// What a node on lists is as a step, by the types of its inputs.
struct ListStep {
    StepRow row;                     // without values
    std::vector<ValueType> results;  // of its outputs; none: it always fails
    std::optional<bool> truth;       // of its result, which is known ahead
};
// `inputs`: nothing where none is given. Code artefact.steps.
Result<ListStep> list_step(const onnx::OnnxNode& node, const std::vector<std::optional<ValueType>>& inputs);

}  // namespace heddle::artefact
