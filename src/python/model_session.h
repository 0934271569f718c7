// An ONNX model as a session.
#pragma once

#include "frontends/onnx/model.h"
#include "inference/model.h"
#include "inference/model_program.h"
#include "python/library.h"

namespace heddle::python {

class ModelSession : public Session {
public:
    // `bindings`: numbers for open dimensions. `rules` as `heddle run --rule` has them.
    ModelSession(std::shared_ptr<const onnx::OnnxModel> model, const Operators& operators,
                 std::map<std::string, int64_t> bindings, std::vector<rewrite::RuleUse> rules, int threads,
                 inference::ProgramSource source);

    const onnx::OnnxModel& model() const { return *parts_->model; }
    // The model's graph for inputs of these types, one a caller's input, null where it is not given, and these values
    // where they are known (null: they are not). Its dimensions have no names.
    Result<Graph> graph_for(const std::vector<const TensorType*>& types, const std::vector<const TensorData*>& values,
                            inference::FreeWeights& weights) const;
    // The same for numbers of its open dimensions.
    Result<Graph> graph_with(std::map<std::string, int64_t> dimensions) const;
    // The same model, with weights of these names as inputs behind its own. Refuses as check_weight_names.
    std::unique_ptr<ModelSession> with_weights(const std::vector<std::string>& names) const;
    // The same model, with those of its initializers that have one of these names as inputs; null: it has none.
    std::unique_ptr<ModelSession> with_initializers(const std::vector<std::string>& names) const;
    const std::map<std::string, int64_t>& bindings() const { return parts_->bindings; }
    // Code python.argument: the model has no weight of the name.
    void check_weight_names(const std::vector<std::string>& names) const;
    // What rules did to the program that was made last: names of rules and tensors.
    std::vector<std::pair<std::string, std::string>> rewrites() const;

    std::shared_ptr<const void> content;  // the object of Python that it was read from; null: a file

private:
    struct Parts {
        std::shared_ptr<const onnx::OnnxModel> model;
        std::shared_ptr<const Library> library;
        std::map<std::string, int64_t> bindings;
        std::vector<rewrite::RuleUse> rules;
        std::vector<bool> is_read;
        int threads = 0;
        inference::ProgramSource source;
        std::vector<std::string> weights = {};  // that are inputs
        std::mutex mutex;
        std::vector<rewrite::Step> steps;

        std::unique_ptr<inference::ModelProgram> made;

        Result<Graph> specialise(const std::vector<TensorData>& inputs, Progress* progress);
        inference::ModelProgram& program(inference::ProgramCache& programs);
    };
    explicit ModelSession(std::shared_ptr<Parts> parts);

    std::shared_ptr<Parts> parts_;
};

// What is wrong with types that are given for weights; empty: nothing. Code python.tensor.
Diagnostics weight_misfits(const std::vector<onnx::OnnxWeight>& weights,
                           const std::map<std::string, TensorType>& given);

}  // namespace heddle::python
