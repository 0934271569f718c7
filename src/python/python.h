// What the parts of the Python module share. Python code in python/heddle stands before it: here nothing is for users.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "inference/staged_model.h"
#include "language/library.h"
#include "support/diagnostic.h"
#include "support/tensor_data.h"
#include "symbolic/value.h"

namespace heddle::python {

namespace nb = nanobind;

// Raises heddle.Error with the diagnostics.
[[noreturn]] void raise(const Diagnostics& problems);
// Of each a RuntimeWarning.
void warn(const Diagnostics& notes);

template <typename T>
T value_or_raise(Result<T>&& result) {
    if (!result) raise(result.error());
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// ---- arrays

// A caller's array, as long as this lives; read in place where it is contiguous.
struct Array {
    nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu> kept;
    TensorData tensor;
};
// Of anything that has DLPack or Python's buffers, or becomes a NumPy array. `name` is for messages. Code python.array.
Array array_of(nb::handle object, const std::string& name);
// Where it is a result that grows, as it was handed out.
std::optional<runtime::Growing> growing_of(nb::handle object);
// What is read in place of the array, `tensor`, may be overwritten in place: it is a NumPy array that is contiguous,
// aligned and not read-only. Code python.donation.
void check_writable(nb::handle object, const TensorData& tensor, const std::string& name);

// A NumPy array in the same memory; of bfloat16, which NumPy lacks: of ml_dtypes where that is installed, else what has
// only __dlpack__.
nb::object to_python(const TensorData& tensor);
nb::object to_python(const runtime::Growing& growing);

// What a run has left at places, as Python holds it (places.cpp); null: it is something else.
std::shared_ptr<const inference::SpreadTensor> spread_of(nb::handle object);
nb::object to_python(std::shared_ptr<const inference::SpreadTensor> tensor);
// All of it, where it is in this process. Code python.spread.
TensorData whole_here(const inference::SpreadTensor& tensor);

// What Python gives for a parameter: a number, text, a dtype, lists of them. Code python.parameter.
StaticValue parameter_of(nb::handle object, const std::string& name);
DType dtype_of(nb::handle object);
// NumPy's dtype, or that of ml_dtypes. Code python.ml_dtypes.
nb::object numpy_type_of(DType dtype);

// ---- what is bound, by file

// The calls that make programs at this moment (progress.h).
class Calls {
public:
    // As long as it lives, `cancel` reaches the call.
    class Entry {
    public:
        Entry(Calls& calls, Progress& progress);
        ~Entry();
        Entry(const Entry&) = delete;
        Entry& operator=(const Entry&) = delete;

    private:
        Calls& calls_;
        Progress& progress_;
    };
    void cancel();

private:
    std::mutex mutex_;
    std::set<Progress*> running_;
};

// Asked without the interpreter: who makes a program meanwhile may wait for it.
inline Diagnostics notes_of(inference::ProgramCache& programs) {
    nb::gil_scoped_release others_run;
    return programs.take_notes();
}

// Where programs are kept for other processes; null: nowhere.
std::shared_ptr<cache::Folder> kept_folder();
// The kernels of all that this process runs.
std::shared_ptr<inference::Engine> engine_of(int threads);

// Inputs and outputs by name, and programs for the shapes that come.
class Session {
public:
    struct Port {
        std::string name, dtype;
        nb::object shape;     // a list of int, str (open, with a name), None (open); None: any
        bool is_read = true;  // else it need not be given
    };
    // What runs the programs for the inputs that are read.
    using Run = std::function<Result<std::vector<inference::Value>>(inference::ProgramCache& programs,
                                                                    const std::vector<inference::Value>& inputs,
                                                                    const inference::RunWatch& watch)>;
    // `source` says all that `specialise` follows from but arrays; empty: programs are not kept on disk. `donations`: by
    // places of ports, which are all read.
    Session(std::vector<Port> inputs, std::vector<Port> outputs, inference::Specialise specialise, int threads,
            inference::ProgramSource source = {}, std::vector<plan::Donation> donations = {}, Run run = nullptr);
    // `progress` is told if a program is made: None, or a function (progress.h). `profile`: None, or a list that gets
    // a tuple (name, kernel, layout, begin, duration) of each launch.
    nb::list run(const std::optional<std::vector<std::string>>& names, const nb::dict& feeds, nb::object progress,
                 nb::object profile);
    // Each tensor that kernels compute, with the interpreter or without fusion: whether all are within their bounds,
    // what `heddle compare` prints, and the same as JSON. `work`: scalar operations that it may take.
    nb::tuple compare(const nb::dict& feeds, bool unfused, double work, int threads, nb::object progress);
    // The same of outputs, beside expected ones.
    nb::tuple compare_outputs(const nb::list& found, const nb::list& expected) const;
    void cancel() { calls_.cancel(); }
    // By address, what the programs that are there keep.
    std::map<uint64_t, int64_t> memory() const;
    void set_program_cache_bytes(int64_t bytes);
    // Programs that are made from now on run there; those that are there go. `states`: outputs that stay there, with the inputs
    // that they are the next time. Codes python.unknown_output, inference.unknown_input.
    void use_places(std::shared_ptr<inference::Places> places, const std::map<std::string, std::string>& states);

    std::vector<Port> inputs, outputs;

private:
    // The caller's memory, which is theirs until `arrays` go, for the inputs that are read.
    struct Given {
        std::vector<Array> arrays;
        std::vector<inference::Value> values;
        std::map<std::string, nb::object> objects;

        std::set<const void*> continued_by(const std::vector<inference::Value>& results) const;
    };
    // `spread`: what lies at places is given as it lies; else all of it.
    Given given(const nb::dict& feeds, bool spread) const;

    inference::Specialise specialise_;
    Run run_;
    std::vector<plan::Donation> donations_;
    inference::ProgramCache programs_;
    Calls calls_;
};

// The picture of its operations, or of the launches that they become on this machine. `unfold`: what repeats is drawn
// as often as it is there.
std::string svg_of(const std::string& title, const Graph& graph, bool fused, bool unfold);

void bind_session(nb::module_& module);
void bind_library(nb::module_& module);
void bind_graph(nb::module_& module);
void bind_model(nb::module_& module);
void bind_explain(nb::module_& module);
void bind_onnxruntime(nb::module_& module);
void bind_places(nb::module_& module);

}  // namespace heddle::python
