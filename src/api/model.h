// What callers compile: an ONNX model, or a program of operators.
#pragma once

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "api/executable.h"
#include "api/ports.h"
#include "api/runtime.h"
#include "frontends/onnx/model.h"
#include "inference/kept_program.h"
#include "inference/model_program.h"
#include "support/file.h"
#include "support/progress.h"

namespace heddle::api {

// A graph for given inputs, and what callers call its inputs and outputs.
struct Specialised {
    Graph graph;
    std::vector<std::string> input_names, output_names;
};

class Model {
public:
    Model(std::shared_ptr<Runtime> runtime, Operators operators);
    virtual ~Model() = default;

    const Ports& inputs() const { return inputs_; }
    const Ports& outputs() const { return outputs_; }
    const Ports& initializers() const { return initializers_; }
    // Code api.argument: the model has no initializer of a name.
    virtual Result<std::shared_ptr<Model>> with_initializers(const std::set<std::string>& names) const;
    Runtime& runtime() const { return *runtime_; }

    // Threads may call at once: those that make a program wait for each other. Codes: api.count, those of borrow, of
    // specialising and compiling; support.cancelled.
    Result<std::shared_ptr<Executable>> compile(std::span<const heddle_tensor> inputs, Progress* progress);

    // One tensor an output, for the caller. Codes: api.count, those of borrow, of ModelProgram::run, api.list (an output
    // is a list).
    Result<std::vector<heddle_managed_tensor*>> run(std::span<const heddle_tensor> inputs, size_t outputs,
                                                    Progress* progress);
    // From now on results of `run` may grow in memory of inputs that were results, and have room behind (growing_run.h).
    void let_grow() { grows_ = true; }

protected:
    // For the values of the inputs that are read.
    virtual Result<std::vector<inference::Value>> run_programs(const std::vector<inference::Value>& inputs, bool grow,
                                                               Progress* progress);
    // `inputs`, one of the model's each: of those that are read, at least the type.
    virtual Result<Specialised> specialise(const std::vector<TensorData>& inputs, Progress* progress) const = 0;

    const std::shared_ptr<Runtime> runtime_;
    const Operators operators_;
    Ports inputs_, outputs_;
    Ports initializers_;  // that may be inputs
    inference::ProgramSource source_;  // of all that the model follows from, but types
    inference::ProgramCache programs_;  // that `run` has made

private:
    struct Wanted;
    Result<void> check_count(size_t inputs) const;
    Result<void> check_places() const;
    Result<Wanted> wanted(std::span<const heddle_tensor> inputs) const;
    std::shared_ptr<Executable> known(const Wanted& wanted);
    Result<std::shared_ptr<Executable>> make(const Wanted& wanted, Progress* progress);
    Result<inference::KeptProgram> compiled(const Wanted& wanted, Progress* progress);
    void keep(std::shared_ptr<Executable> executable);

    std::atomic<bool> grows_ = false;
    std::mutex mutex_;
    std::list<std::shared_ptr<Executable>> executables_;  // the one asked for last in front
};

// Bindings of open dimensions: codes api.dimension.
using Bindings = std::map<std::string, int64_t>;

Result<std::shared_ptr<Model>> load_model(std::shared_ptr<Runtime> runtime, const std::string& path, Bindings bindings);
Result<std::shared_ptr<Model>> parse_model(std::shared_ptr<Runtime> runtime, MappedFile bytes, Bindings bindings);
// Code api.argument: an input without a name, or named twice. The program is parsed when it is compiled.
Result<std::shared_ptr<Model>> model_from_calls(std::shared_ptr<Runtime> runtime, std::string program,
                                                std::vector<std::string> inputs);

}  // namespace heddle::api
