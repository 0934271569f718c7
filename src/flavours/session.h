// Applying operators to values on placements. In an *eager* session a kernel runs at once; in a *symbolic* one it runs
// if every argument that it opens is concrete, else the operation is recorded (docs/flavours.md).
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "flavours/kernel_matrix.h"

namespace heddle::flavours {

inline constexpr int deepest_application = 64;  // kernels applying operators

struct RecordedTensor {
    std::string name;  // unique
    Type type;
    TensorType tensor;
    Placement placement;
    int32_t producer = -1;  // of Computation::operations; below zero: an input or a constant
    std::optional<TensorData> constant;
};

struct RecordedOperation {
    std::string operator_name;
    Placement placement;
    Parameters parameters;
    std::vector<Value> inputs;  // leaves are recorded tensors
    std::vector<RecordedId> outputs;
};

// What a symbolic session has recorded, in an order in which it can run. A value that is used on another host than the
// one that holds it is to be sent there.
struct Computation {
    std::vector<RecordedTensor> tensors;
    std::vector<RecordedOperation> operations;
    std::vector<RecordedId> inputs;
};
std::string print(const Computation& computation);

enum class Mode : uint8_t { eager, symbolic };

class Session {
public:
    // `random` gives keys; by default the system's. The matrix outlives the session.
    Session(const KernelMatrix& matrix, Mode mode, std::function<uint64_t()> random = {});

    Mode mode() const { return mode_; }
    const KernelMatrix& matrix() const { return matrix_; }

    // A handle that nothing produces. `type` is a whole type word ("HostRing64Tensor"). Symbolic sessions only: code
    // flavours.input; flavours.type_word.
    Result<Value> input(std::string name, const std::string& type, std::vector<Size> shape, const Placement& placement);
    // Known data on a host. Codes flavours.type_word, flavours.input (the data is not what stores the type's element).
    Result<Value> constant(const std::string& type, TensorData data, const Placement& placement);

    // The results of an operator on a placement, one an output (all of a variadic one). Arguments left out at the end
    // are not given. After an error nothing has been recorded. Codes: flavours.no_row, flavours.mixed,
    // flavours.unknown_kernel, flavours.result_type, flavours.not_concrete, flavours.depth; those of
    // KernelMatrix::find, of heddle::Session::apply, by which types are found and checked, of evaluating a body, and
    // those of kernels.
    Result<std::vector<Value>> apply(const std::string& operator_name, const Placement& placement,
                                     const std::vector<Value>& arguments, const Parameters& parameters = {});

    const Computation& computation() const { return computation_; }

private:
    friend class Context;
    struct Application;  // session.cpp

    Result<std::vector<Value>> apply_within(const Application& application);
    Result<std::vector<Value>> record(const Application& application);
    Result<std::vector<Value>> run(const Application& application);
    Result<std::vector<Value>> call(const Application& application, const std::vector<Value>& arguments);
    Result<std::vector<Value>> compute(const Application& application, const std::vector<Value>& arguments);
    Result<void> convert(const std::vector<Stage>& stages, size_t positions, std::vector<Value>& values);
    Result<void> check_leaves(const Application& application) const;
    Diagnostic mixed(const Application& application, size_t argument) const;
    Value add_constant(Type type, TensorData data, const Placement& placement);
    RecordedId add_tensor(RecordedTensor tensor);  // makes the name unique
    std::string producer_text(const Value& value) const;

    const KernelMatrix& matrix_;
    Mode mode_;
    std::function<uint64_t()> random_;
    Computation computation_;
    std::set<std::string> names_;
    std::map<std::string, std::vector<Value>> once_;
    int64_t fresh_ = 0;
    int depth_ = 0;
};

// Runs a computation in an eager session: `feeds` are its inputs' values, in order; the answer is what `results`,
// values of the symbolic session, are then. Code flavours.feeds; those of Session::apply.
Result<std::vector<Value>> run(const Computation& computation, Session& session, const std::vector<Value>& feeds,
                               const std::vector<Value>& results);

// What a kernel sees of its session. After the first error nothing is applied any more and values are empty; the kernel
// ends as usual, and the error is its result.
class Context {
public:
    Context(Session& session, const Placement& placement, const Parameters& parameters)
        : session_(session), placement_(placement), parameters_(parameters) {}

    const Placement& placement() const { return placement_; }  // where the kernel runs
    const Parameters& parameters() const { return parameters_; }

    // An operator of one result.
    Value apply(const std::string& operator_name, const Placement& placement, const std::vector<Value>& arguments,
                const Parameters& parameters = {});
    Value constant(const std::string& type, TensorData data, const Placement& placement);
    // A concrete value on the kernel's placement, of parts.
    Opened compose(const std::string& type, TensorType tensor, std::vector<Value> parts);
    // What an operator gave, as a concrete value: code flavours.not_concrete if it is a handle.
    Opened opened(const Value& value);
    // A number that this session has not given before: the sync key of an operation.
    int64_t fresh() { return session_.fresh_++; }
    // Values that are made when first asked for, once for each placement and name.
    std::vector<Value> once(const Placement& placement, const std::string& name,
                            const std::function<std::vector<Value>()>& make);

    void fail(Diagnostics problems);
    const Diagnostics& problems() const { return problems_; }

private:
    Session& session_;
    const Placement& placement_;
    const Parameters& parameters_;
    Diagnostics problems_;
};

}  // namespace heddle::flavours
