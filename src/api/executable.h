// A model compiled for inputs of some types: runs on tensors of callers.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/ports.h"
#include "api/runtime.h"
#include "runtime/executable.h"

namespace heddle::api {

class Executable {
public:
    // `inputs`: the model's. The program's are those of them that `input_names` names, in its order.
    Executable(std::shared_ptr<Runtime> runtime, std::shared_ptr<const runtime::Executable> program,
               const std::vector<std::string>& input_names, const std::vector<std::string>& output_names,
               const Ports& inputs);

    const Ports& inputs() const { return inputs_; }
    const Ports& outputs() const { return outputs_; }
    const runtime::Executable& program() const { return *program_; }
    Runtime& runtime() const { return *runtime_; }
    // By the program's inputs, the places among the model's.
    const std::vector<size_t>& places() const { return places_; }
    int64_t workspace_bytes() const;

    // Threads may call at once. Codes: api.count, those of borrow and check_apart, api.output, those of
    // runtime::Session::run.
    Result<void> run(std::span<const heddle_tensor> inputs, std::span<const heddle_tensor> outputs);
    // Code api.argument.
    Result<heddle_managed_tensor*> make_output(size_t index) const;

private:
    struct Call;
    Result<Call> prepared(std::span<const heddle_tensor> inputs, std::span<const heddle_tensor> outputs) const;
    Result<void> check_output(size_t index, const TensorData& output) const;

    const std::shared_ptr<Runtime> runtime_;
    const std::shared_ptr<const runtime::Executable> program_;
    Ports inputs_, outputs_;
    std::vector<size_t> places_;
    std::vector<std::unique_ptr<runtime::Session>> sessions_;  // by slot, whose lease one holds
};

}  // namespace heddle::api
