// A model for inputs of any sizes: as one graph where it is one, else in stages.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "inference/staged_model.h"

namespace heddle::inference {

class ModelProgram {
public:
    // `specialise`: the model's graph for the inputs that are read. Without `may_be_staged` a model that is no one graph
    // is refused as `specialise` does. All but the functions outlive it.
    ModelProgram(const onnx::OnnxModel& model, const Library& library, ProgramCache& programs,
                 std::map<std::string, int64_t> bindings, Specialise specialise, bool may_be_staged)
        : model_(model),
          library_(library),
          programs_(programs),
          bindings_(std::move(bindings)),
          specialise_(std::move(specialise)),
          may_be_staged_(may_be_staged),
          is_read_(onnx::read_inputs(model)) {}

    // One value an output, for one an input that is read. `grow`: results may grow in memory of inputs (growing_run.h).
    // Threads may call at once, and wait for each other. Codes: those of ProgramCache::run and StagedModel::run.
    Result<std::vector<Value>> run(const std::vector<Value>& inputs, bool grow, const RunWatch& watch);

private:
    Result<std::vector<Value>> run_as_graph(const std::vector<Value>& inputs, bool grow, const RunWatch& watch);
    StagedModel* staged(bool make);
    bool has_changed(const Graph& graph);

    const onnx::OnnxModel& model_;
    const Library& library_;
    ProgramCache& programs_;
    const std::map<std::string, int64_t> bindings_;
    const Specialise specialise_;
    const bool may_be_staged_;
    const std::vector<bool> is_read_;  // by caller's input
    std::mutex mutex_;
    std::map<std::string, TensorData> decided_;  // by input, the first value that a graph was for
    std::unique_ptr<StagedModel> staged_;  // once it was found to be no one graph
};

}  // namespace heddle::inference
