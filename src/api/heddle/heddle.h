// Heddle in a C++ program: load a model, compile it, run it on memory of yours. This header is all of it: C++17 and the C
// functions of c_api.h, by whichever compiler and with or without exceptions (docs/embedding.md has examples).
//
//     auto runtime = heddle::Runtime::create({}).value();
//     auto model = runtime.load("model.onnx").value();
//     auto executable = model.compile({heddle::Tensor::of(pixels, {1, 3, 224, 224})}).value();
//     auto done = executable.run({heddle::Tensor::of(pixels, {1, 3, 224, 224})}, {heddle::Tensor::of(scores, {1, 1000})});
//     if (!done) std::puts(done.error().text().c_str());
//
// Errors are values: what can fail answers a Result. Runtime, Model and Executable are cheap copies of one thing, which
// lives as long as one of them; threads may use them at once. What c_api.h says of threads, memory and versions holds.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "c_api.h"

namespace heddle {
// Other versions, and what is inside of the library, have other names for a linker.
inline namespace v1 {

// ---- errors

enum class ErrorKind { failed = HEDDLE_FAILED, cancelled, out_of_memory, internal };

class Error {
public:
    Error(ErrorKind kind, std::string code, std::string message)
        : kind_(kind),
          code_(std::move(code)),
          message_(std::move(message)),
          text_("error[" + code_ + "]: " + message_ + "\n"),
          json_("[]") {}
    // Takes the error, which may be null: not even that could be made.
    Error(heddle_status status, heddle_error* error)
        : kind_(static_cast<ErrorKind>(status)),
          code_(error ? heddle_error_code(error) : "runtime.out_of_memory"),
          message_(error ? heddle_error_message(error) : "there is not the memory that the call needs"),
          text_(error ? heddle_error_text(error) : message_),
          json_(error ? heddle_error_json(error) : "[]") {
        heddle_error_free(error);
    }

    ErrorKind kind() const { return kind_; }
    const std::string& code() const { return code_; }        // "api.device": stable
    const std::string& message() const { return message_; }  // one sentence
    const std::string& text() const { return text_; }        // all of it, for people
    const std::string& json() const { return json_; }        // the same for programs

private:
    ErrorKind kind_;
    std::string code_, message_, text_, json_;
};

struct Done {};  // of what gives nothing

// A value or an error. To take what is not there ends the program with the error's text, or throws std::runtime_error
// where there are exceptions.
template <typename T>
class [[nodiscard]] Result {
public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    explicit operator bool() const { return state_.index() == 0; }
    const Error& error() const { return *std::get_if<1>(&state_); }  // where there is no value
    T& value() & {
        check();
        return *std::get_if<0>(&state_);
    }
    T value() && {
        check();
        return std::move(*std::get_if<0>(&state_));
    }
    T& operator*() { return value(); }
    T* operator->() { return &value(); }

private:
    void check() const {
        if (*this) return;
#if defined(__cpp_exceptions)
        throw std::runtime_error(error().text());
#else
        std::fputs(error().text().c_str(), stderr);
        std::abort();
#endif
    }
    std::variant<T, Error> state_;
};

// ---- tensors

using DType = heddle_dtype;
inline bool operator==(DType a, DType b) { return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes; }

// Of the C++ types that have one: bool, integers, float, double. Others are named by DLPack's code and bits:
// heddle::DType{4, 16, 1} is bfloat16.
template <typename T>
constexpr DType dtype_of() {
    static_assert(std::is_arithmetic_v<T>, "name the type by DLPack's code and bits");
    constexpr int code = std::is_same_v<T, bool> ? 6 : std::is_floating_point_v<T> ? 2 : std::is_signed_v<T> ? 0 : 1;
    return {static_cast<uint8_t>(code), static_cast<uint8_t>(sizeof(T) * 8), 1};
}

// Elements in memory of yours, or in memory of the library that is given back with the last copy.
class Tensor {
public:
    Tensor() = default;
    // Row-major, on the CPU. The memory is yours, and is written to only where the tensor is an output.
    template <typename T>
    static Tensor of(const T* data, std::vector<int64_t> shape) {
        return Tensor(const_cast<T*>(data), dtype_of<T>(), std::move(shape));
    }
    // Strides in elements; none: row-major. `data` may be null for what is compiled for.
    Tensor(const void* data, DType dtype, std::vector<int64_t> shape, std::vector<int64_t> strides = {},
           heddle_device device = cpu())
        : data_(const_cast<void*>(data)),
          dtype_(dtype),
          device_(device),
          shape_(std::move(shape)),
          strides_(std::move(strides)) {}
    // Takes a managed tensor, of this library or of another one.
    static Tensor take(heddle_managed_tensor* managed) {
        const heddle_tensor& t = managed->dl_tensor;
        Tensor tensor(static_cast<char*>(t.data) + t.byte_offset, t.dtype, {t.shape, t.shape + t.ndim}, {}, t.device);
        if (t.strides) tensor.strides_.assign(t.strides, t.strides + t.ndim);
        tensor.owner_ = std::shared_ptr<heddle_managed_tensor>(managed, [](heddle_managed_tensor* last) {
            if (last->deleter) last->deleter(last);
        });
        return tensor;
    }

    const std::vector<int64_t>& shape() const { return shape_; }
    const std::vector<int64_t>& strides() const { return strides_; }  // in elements; empty: row-major
    DType dtype() const { return dtype_; }
    int64_t size() const {
        int64_t size = 1;
        for (int64_t extent : shape_) size *= extent;
        return size;
    }
    void* data() const { return data_; }
    // Null where its elements are of another type.
    template <typename T>
    T* as() const {
        return dtype_of<std::remove_const_t<T>>() == dtype_ ? static_cast<T*>(data_) : nullptr;
    }
    // As the C functions take it, while this lives.
    heddle_tensor c_tensor() const {
        heddle_tensor tensor = {};
        tensor.data = data_;
        tensor.device = device_;
        tensor.ndim = static_cast<int32_t>(shape_.size());
        tensor.dtype = dtype_;
        tensor.shape = const_cast<int64_t*>(shape_.data());
        tensor.strides = strides_.empty() ? nullptr : const_cast<int64_t*>(strides_.data());
        return tensor;
    }
    static heddle_device cpu() { return {decltype(heddle_device::device_type){1}, 0}; }

private:
    void* data_ = nullptr;
    DType dtype_ = {};
    heddle_device device_ = cpu();
    std::vector<int64_t> shape_, strides_;
    std::shared_ptr<heddle_managed_tensor> owner_;
};

using Tensors = std::vector<Tensor>;
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// An input or output.
struct Dimension {
    int64_t size = -1;  // -1: open
    std::string name;   // may be empty
};
struct Port {
    std::string name;
    DType dtype = {};        // bits 0: not known before it is compiled
    bool has_shape = false;  // else its rank is not known
    std::vector<Dimension> shape;
    bool is_read = true;  // else nothing depends on it, and named tensors may leave it out

    Port() = default;
    explicit Port(const heddle_port& port)
        : name(port.name), dtype(port.dtype), has_shape(port.ndim >= 0), is_read(port.is_read != 0) {
        for (int32_t d = 0; d < port.ndim; d++) shape.push_back({port.shape[d], port.dimension_names[d]});
    }
};

namespace detail {

// Calls a C function with an error at the end.
template <typename Function, typename... Arguments>
Result<Done> call(Function function, Arguments... arguments) {
    heddle_error* error = nullptr;
    const heddle_status status = function(arguments..., &error);
    if (status == HEDDLE_OK) return Done{};
    return Error(status, error);
}

// The same of a function that gives a handle before that.
template <typename T, typename Handle, typename Function, typename... Arguments>
Result<T> make(Handle*, Function function, Arguments... arguments) {
    Handle* handle = nullptr;
    auto done = call(function, arguments..., &handle);
    if (!done) return done.error();
    return T(handle);
}

template <typename Handle>
std::vector<Port> ports(const Handle* handle, size_t count, const heddle_port* (*at)(const Handle*, size_t)) {
    std::vector<Port> ports;
    for (size_t i = 0; i < count; i++) ports.emplace_back(*at(handle, i));
    return ports;
}

inline std::vector<heddle_tensor> c_tensors(const Tensors& tensors) {
    std::vector<heddle_tensor> list;
    for (const Tensor& tensor : tensors) list.push_back(tensor.c_tensor());
    return list;
}

// In the order of the ports.
inline Result<Tensors> arrange(const char* role, const std::vector<Port>& ports, const NamedTensors& named) {
    Tensors tensors(ports.size());
    std::vector<bool> given(ports.size(), false);
    for (const auto& [name, tensor] : named) {
        size_t i = 0;
        while (i < ports.size() && ports[i].name != name) i++;
        if (i == ports.size() || given[i])
            return Error(ErrorKind::failed, "api.name",
                         std::string(role) + " '" + name + (i < ports.size() ? "' is given twice" : "' is unknown"));
        tensors[i] = tensor;
        given[i] = true;
    }
    for (size_t i = 0; i < ports.size(); i++) {
        if (!given[i] && ports[i].is_read)
            return Error(ErrorKind::failed, "api.name", std::string(role) + " '" + ports[i].name + "' is not given");
    }
    return tensors;
}

}  // namespace detail

// ---- executables

// A model compiled for inputs of some types and shapes.
class Executable {
public:
    explicit Executable(heddle_executable* handle) : handle_(handle, heddle_executable_release) {}

    std::vector<Port> inputs() const {
        return detail::ports(get(), heddle_executable_input_count(get()), heddle_executable_input);
    }
    std::vector<Port> outputs() const {
        return detail::ports(get(), heddle_executable_output_count(get()), heddle_executable_output);
    }
    int64_t workspace_bytes() const { return heddle_executable_workspace_bytes(get()); }  // of one run
    int64_t weight_bytes() const { return heddle_executable_weight_bytes(get()); }        // kept for all runs

    // Reads and writes where the tensors lie; in the order of inputs() and outputs().
    Result<Done> run(const Tensors& inputs, const Tensors& outputs) const {
        const auto in = detail::c_tensors(inputs), out = detail::c_tensors(outputs);
        return detail::call(heddle_executable_run, get(), in.data(), in.size(), out.data(), out.size());
    }
    Result<Done> run_named(const NamedTensors& inputs, const NamedTensors& outputs) const {
        auto in = detail::arrange("input", this->inputs(), inputs);
        if (!in) return in.error();
        auto out = detail::arrange("output", this->outputs(), outputs);
        if (!out) return out.error();
        return run(*in, *out);
    }
    // Into memory of the runtime's allocator.
    Result<Tensors> run(const Tensors& inputs) const {
        auto outputs = make_outputs();
        if (!outputs) return outputs.error();
        auto done = run(inputs, *outputs);
        if (!done) return done.error();
        return outputs;
    }
    Result<Tensors> make_outputs() const {
        Tensors outputs;
        for (size_t i = 0; i < heddle_executable_output_count(get()); i++) {
            heddle_managed_tensor* managed = nullptr;
            auto done = detail::call(heddle_executable_make_output, get(), i, &managed);
            if (!done) return done.error();
            outputs.push_back(Tensor::take(managed));
        }
        return outputs;
    }

    heddle_executable* get() const { return handle_.get(); }

private:
    std::shared_ptr<heddle_executable> handle_;
};

// ---- models

struct Progress {
    std::string stage;  // "load", "symbolic", "fusion", "plan", "code", "link", "prepare"
    int64_t done = 0, total = 0;
    double seconds = 0;  // since the stage began
};
// Whether to go on. It must not throw.
using OnProgress = std::function<bool(const Progress&)>;

class Model {
public:
    explicit Model(heddle_model* handle) : handle_(handle, heddle_model_release) {}

    std::vector<Port> inputs() const {
        return detail::ports(get(), heddle_model_input_count(get()), heddle_model_input);
    }
    // Of a program of calls none: its executables know them.
    std::vector<Port> outputs() const {
        return detail::ports(get(), heddle_model_output_count(get()), heddle_model_output);
    }

    // Inputs that have a value already, and are no inputs of the model.
    std::vector<Port> initializers() const {
        return detail::ports(get(), heddle_model_initializer_count(get()), heddle_model_initializer);
    }
    // A model of its own, which takes those of these names as inputs.
    Result<Model> with_initializers(const std::vector<std::string>& names) const {
        std::vector<const char*> texts;
        for (const std::string& name : names) texts.push_back(name.c_str());
        return detail::make<Model>(static_cast<heddle_model*>(nullptr), heddle_model_with_initializers, get(),
                                   texts.data(), texts.size());
    }

    // For inputs of these types and shapes, with memory where a shape or a branch follows from values. What was compiled
    // before is given again.
    Result<Executable> compile(const Tensors& inputs, const OnProgress& on_progress = {}) const {
        const auto in = detail::c_tensors(inputs);
        const heddle_progress progress = {
            const_cast<OnProgress*>(&on_progress),
            [](void* owner, const char* stage, int64_t done, int64_t total, double seconds) -> int32_t {
                const auto& tell = *static_cast<const OnProgress*>(owner);
                return tell({stage, done, total, seconds}) ? 0 : 1;
            }};
        return detail::make<Executable>(static_cast<heddle_executable*>(nullptr), heddle_model_compile, get(),
                                        in.data(), in.size(), on_progress ? &progress : nullptr);
    }
    Result<Executable> compile_named(const NamedTensors& inputs, const OnProgress& on_progress = {}) const {
        auto in = detail::arrange("input", this->inputs(), inputs);
        if (!in) return in.error();
        return compile(*in, on_progress);
    }
    // For inputs of any sizes; what is compiled for it is kept. `outputs`: how many a program of calls has.
    Result<Tensors> run(const Tensors& inputs, size_t outputs = 1) const {
        const auto in = detail::c_tensors(inputs);
        if (const size_t known = heddle_model_output_count(get())) outputs = known;
        std::vector<heddle_managed_tensor*> made(outputs);
        auto done = detail::call(heddle_model_run, get(), in.data(), in.size(),
                                 static_cast<const heddle_progress*>(nullptr), made.data(), made.size());
        if (!done) return done.error();
        Tensors results;
        for (heddle_managed_tensor* tensor : made) results.push_back(Tensor::take(tensor));
        return results;
    }

    // From now on a result of `run` that is an input with more behind it may have room behind (Tensor::strides), and grows there
    // when it is handed back. Write neither to it nor to what it grew from.
    Result<Done> let_results_grow() const { return detail::call(heddle_model_let_results_grow, get()); }

    heddle_model* get() const { return handle_.get(); }

private:
    std::shared_ptr<heddle_model> handle_;
};

// ---- runtime

// Where all elements of tensors lie that are not the caller's. From any thread, at once, too.
class Allocator {
public:
    virtual ~Allocator() = default;
    virtual void* allocate(size_t bytes, size_t alignment) noexcept = 0;  // null: there is not so much
    virtual void release(void* memory, size_t bytes) noexcept = 0;
};

struct RuntimeOptions {
    int threads = 0;  // of one run; 0: one a core
    int runs = 1;     // that may go on at once
    bool cache = false;
    std::string cache_folder;        // where `cache`; empty: the user's
    std::string operators;           // empty: those beside the library
    Allocator* allocator = nullptr;  // null: the system's; it outlives all that is made
    double work = 0;                 // scalar operations that a run may take; 0: 1e13
};

using Dimensions = std::vector<std::pair<std::string, int64_t>>;

class Runtime {
public:
    static Result<Runtime> create(const RuntimeOptions& options = {}) {
        if (!heddle_api_serves(HEDDLE_API_VERSION))
            return Error(ErrorKind::failed, "api.version",
                         "the program was compiled for another version of the library");
        heddle_allocator allocator = {
            options.allocator,
            [](void* owner, size_t bytes, size_t alignment) {
                return static_cast<Allocator*>(owner)->allocate(bytes, alignment);
            },
            [](void* owner, void* memory, size_t bytes) { static_cast<Allocator*>(owner)->release(memory, bytes); }};
        heddle_runtime_options c_options = {};
        c_options.size = sizeof c_options;
        c_options.threads = options.threads;
        c_options.runs = options.runs;
        c_options.cache_folder = options.cache ? options.cache_folder.c_str() : nullptr;
        c_options.operators = options.operators.empty() ? nullptr : options.operators.c_str();
        c_options.allocator = options.allocator ? &allocator : nullptr;
        c_options.work = options.work;
        return detail::make<Runtime>(static_cast<heddle_runtime*>(nullptr), heddle_runtime_create, &c_options);
    }
    explicit Runtime(heddle_runtime* handle) : handle_(handle, heddle_runtime_release) {}

    // Operators of your own, for models that are made from now on: a file or folder, or a text.
    Result<Done> add_operators(const std::string& path, const std::string& name = {}) const {
        return detail::call(heddle_runtime_add_operators, get(), path.c_str(), name.empty() ? nullptr : name.c_str());
    }
    Result<Done> add_operators_text(const std::string& name, const std::string& text) const {
        return detail::call(heddle_runtime_add_operators_text, get(), name.c_str(), text.c_str());
    }

    // An ONNX file. `dimensions`: numbers for open ones.
    Result<Model> load(const std::string& path, const Dimensions& dimensions = {}) const {
        const auto list = c_dimensions(dimensions);
        return detail::make<Model>(static_cast<heddle_model*>(nullptr), heddle_model_load, get(), path.c_str(),
                                   list.data(), list.size());
    }
    // ONNX in memory, which is copied.
    Result<Model> parse(const void* bytes, size_t size, const Dimensions& dimensions = {}) const {
        return parse(bytes, size, nullptr, nullptr, dimensions);
    }
    // The same, read where it lies until nothing needs it: `owner` is kept so long.
    Result<Model> parse(const void* bytes, size_t size, std::shared_ptr<const void> owner,
                        const Dimensions& dimensions = {}) const {
        auto* kept = new std::shared_ptr<const void>(std::move(owner));
        return parse(
            bytes, size, [](void* given) { delete static_cast<std::shared_ptr<const void>*>(given); }, kept,
            dimensions);
    }
    // A program of operators over named inputs: "h = matmul(x, w); y = softmax(h, axis: 1)".
    Result<Model> calls(const std::string& program, const std::vector<std::string>& inputs) const {
        std::vector<const char*> names;
        for (const std::string& input : inputs) names.push_back(input.c_str());
        return detail::make<Model>(static_cast<heddle_model*>(nullptr), heddle_model_from_calls, get(), program.c_str(),
                                   names.data(), names.size());
    }

    // What is no error, but worth a warning, since the last call, as text; empty: nothing.
    std::string take_notes() const {
        heddle_error* notes = heddle_runtime_take_notes(get());
        std::string text = notes ? heddle_error_text(notes) : "";
        heddle_error_free(notes);
        return text;
    }

    heddle_runtime* get() const { return handle_.get(); }

private:
    static std::vector<heddle_dimension> c_dimensions(const Dimensions& dimensions) {
        std::vector<heddle_dimension> list;
        for (const auto& [name, size] : dimensions) list.push_back({name.c_str(), size});
        return list;
    }
    Result<Model> parse(const void* bytes, size_t size, void (*release)(void*), void* owner,
                        const Dimensions& dimensions) const {
        const auto list = c_dimensions(dimensions);
        return detail::make<Model>(static_cast<heddle_model*>(nullptr), heddle_model_parse, get(), bytes, size, release,
                                   owner, list.data(), list.size());
    }

    std::shared_ptr<heddle_runtime> handle_;
};

inline std::string version() { return heddle_version(); }

}  // namespace v1
}  // namespace heddle
