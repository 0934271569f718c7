// What the names of ONNX Runtime (python/heddle/_onnxruntime*.py) need from here: types by its numbers, and refusals.
#include <fmt/format.h>

#include "frontends/onnx/model.h"
#include "python/python.h"
#include "support/progress.h"

namespace heddle::python {
namespace {

constexpr int64_t most_onnx_types = 64;

[[noreturn]] void raise_not_there(const std::string& name, const std::string& instead) {
    raise({{.code = "python.not_there",
            .summary = fmt::format("'{}' of ONNX Runtime is not there", name),
            .remedy = instead,
            .params = {{"name", name}}}});
}

[[noreturn]] void raise_option(const std::string& name, const std::string& expected, const std::string& found) {
    raise({{.code = "python.option",
            .summary = fmt::format("'{}' cannot have this value here", name),
            .expected = expected,
            .found = found,
            .params = {{"option", name}}}});
}

// A tensor of a graph is used as what has a value already.
[[noreturn]] void raise_traced(const std::string& what, const std::string& found, const std::string& remedy) {
    raise({{.code = "python.traced",
            .summary = fmt::format("a tensor of a graph cannot be {}", what),
            .found = found,
            .reason = "its elements have values only when the graph runs",
            .remedy = remedy}});
}

// What cannot be made again in another process.
[[noreturn]] void raise_pickle(const std::string& what, const std::string& reason, const std::string& remedy) {
    raise({{.code = "python.pickle",
            .summary = fmt::format("{} cannot be made again in another process", what),
            .reason = reason,
            .remedy = remedy}});
}

[[noreturn]] void raise_binding(const std::string& name, const std::string& summary, const std::string& expected,
                                const std::string& found) {
    raise({{.code = "python.binding",
            .summary = summary,
            .expected = expected,
            .found = found,
            .params = {{"name", name}}}});
}

DType dtype_of_number(int64_t number) {
    if (auto dtype = onnx::dtype_of(number)) return *dtype;
    raise({{.code = "python.dtype",
            .summary = fmt::format("{} is no element type of ONNX that is supported", number),
            .expected = "a number of onnx.TensorProto, such as 1 for float32"}});
}

int64_t onnx_number(DType dtype) {
    for (int64_t number = 0; number < most_onnx_types; number++) {
        if (onnx::dtype_of(number) == dtype) return number;
    }
    return 0;
}

DType any_dtype(nb::handle type) {
    int64_t number = 0;
    return nb::isinstance<nb::int_>(type) && nb::try_cast(type, number) ? dtype_of_number(number) : dtype_of(type);
}

}  // namespace

void bind_onnxruntime(nb::module_& module) {
    module.def("raise_not_there", &raise_not_there);
    module.def("raise_option", &raise_option);
    module.def("raise_traced", &raise_traced);
    module.def("raise_pickle", &raise_pickle);
    module.def("raise_binding", &raise_binding);
    module.def("raise_cancelled", [] { raise(cancelled().error()); });
    // Of a NumPy dtype, a name, or a number of ONNX.
    module.def("dtype_name", [](nb::handle type) { return std::string(name(any_dtype(type))); });
    module.def("onnx_number", [](nb::handle type) { return onnx_number(any_dtype(type)); });
    module.def(
        "numpy_type", [](nb::handle type) { return numpy_type_of(any_dtype(type)); },
        nb::sig("def numpy_type(type: object) -> typing.Any"));
    // Its own memory.
    module.def(
        "copied", [](nb::handle array) { return to_python(array_of(array, "data").tensor.clone()); },
        nb::sig("def copied(array: object) -> typing.Any"));
}

}  // namespace heddle::python
