#include <algorithm>
#include <atomic>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cache/folder.h"
#include "cache/hash.h"
#include "frontends/onnx/import.h"
#include "inference/kept_program.h"
#include "inference/model.h"
#include "python/library.h"
#include "python/progress.h"
#include "support/file.h"

namespace heddle::python {
namespace {

constexpr size_t most_programs = 16;  // of a session: each keeps its packed weights

std::string type_text(const Session::Port& port) {
    if (port.shape.is_none()) return port.dtype;
    std::vector<std::string> shape;
    for (nb::handle extent : port.shape) shape.emplace_back(extent.is_none() ? "?" : nb::str(extent).c_str());
    return fmt::format("{}[{}]", port.dtype, fmt::join(shape, ", "));
}

std::vector<std::string> names_of(const std::vector<Session::Port>& ports) {
    std::vector<std::string> names;
    for (const Session::Port& port : ports) names.push_back(port.name);
    return names;
}

std::vector<size_t> positions(const std::vector<Session::Port>& outputs, const std::vector<std::string>& wanted) {
    auto names = names_of(outputs);
    std::vector<size_t> result;
    Diagnostics problems;
    for (const std::string& name : wanted) {
        auto found = std::ranges::find(names, name);
        if (found != names.end()) {
            result.push_back(static_cast<size_t>(found - names.begin()));
            continue;
        }
        std::string near = nearest_name(name, names);
        problems.push_back({.code = "python.unknown_output",
                            .summary = fmt::format("there is no output '{}'", name),
                            .expected = fmt::format("{}", fmt::join(names, ", ")),
                            .remedy = near.empty() ? "" : fmt::format("did you mean '{}'?", near)});
    }
    if (!problems.empty()) raise(problems);
    return result;
}

// Of all engines; in the user's folder from the first engine on, if no other was chosen.
struct Kernels {
    std::shared_ptr<runtime::KernelCache> cache = inference::make_kernel_cache();
    std::atomic<bool> chosen = false;
};

Kernels& kernels() {
    static auto& shared = *new Kernels;  // never destroyed: threads may run its code while a process ends
    return shared;
}

}  // namespace

std::shared_ptr<inference::Engine> engine_of(int threads) {
    Kernels& shared = kernels();
    if (!shared.chosen.exchange(true)) {
        Diagnostics notes;
        shared.cache->use_folder(cache::open_folder({}, notes));
        warn(notes);
    }
    return inference::make_engine(threads, shared.cache);
}

void use_cache(const std::optional<std::string>& path) {
    std::shared_ptr<cache::Folder> folder;
    if (path) folder = value_or_raise(cache::Folder::open(*path));
    kernels().chosen = true;
    kernels().cache->use_folder(std::move(folder));
}

Session::Session(std::vector<Port> in, std::vector<Port> out, inference::Specialise specialise, int threads,
                 inference::ProgramSource source)
    : inputs(std::move(in)),
      outputs(std::move(out)),
      specialise_(std::move(specialise)),
      programs_(engine_of(threads), most_programs, std::move(source)) {}

nb::list Session::run(const std::optional<std::vector<std::string>>& names, const nb::dict& feeds,
                      nb::object progress) {
    auto output_names = names_of(outputs);
    auto wanted = positions(outputs, names ? *names : output_names);
    std::vector<Array> arrays;  // the caller's memory is theirs until the end
    std::map<std::string, TensorData> given;
    for (auto [key, value] : feeds) {
        std::string name = nb::cast<std::string>(nb::str(key));
        arrays.push_back(array_of(value, name));
        given.insert_or_assign(name, arrays.back().tensor);
    }
    auto arranged = value_or_raise(inference::arrange(names_of(inputs), given));
    Diagnostics missing;
    std::vector<TensorData> tensors;
    for (size_t i = 0; i < inputs.size(); i++) {
        if (!arranged[i]) {
            missing.push_back(inference::missing_input(inputs[i].name, type_text(inputs[i])));
            missing.back().remedy = fmt::format("add {{'{}': array}} to what run is given", inputs[i].name);
        } else {
            tensors.push_back(*arranged[i]);
        }
    }
    if (!missing.empty()) raise(missing);
    auto results = watched(std::move(progress), calls_,
                           [&](Progress& told) { return programs_.run({}, tensors, specialise_, &told); });
    if (!results) raise(results.error());
    warn(notes_of(programs_));
    nb::list answer;
    for (size_t output : wanted) answer.append(to_python((*results)[output]));
    return answer;
}

namespace {

std::vector<Session::Port> ports_of(const std::vector<const onnx::OnnxValue*>& values) {
    std::vector<Session::Port> ports;
    for (const onnx::OnnxValue* value : values) {
        nb::object shape = nb::none();
        if (value->has_shape) {
            nb::list extents;
            for (const onnx::OnnxDimension& dimension : value->shape) {
                if (dimension.value && *dimension.value >= 0)
                    extents.append(*dimension.value);
                else if (dimension.name.empty())
                    extents.append(nb::none());
                else
                    extents.append(dimension.name);
            }
            shape = extents;
        }
        ports.push_back({value->name, value->type_text, shape});
    }
    return ports;
}

Result<onnx::OnnxModel> read(const std::string& path, const std::optional<nb::bytes>& content) {
    if (!content) return onnx::read_model(path);
    // Weights are read where they lie.
    std::shared_ptr<const void> owner(content->inc_ref().ptr(), [](const void* object) {
        nb::gil_scoped_acquire python;
        Py_DECREF(static_cast<PyObject*>(const_cast<void*>(object)));
    });
    const auto* begin = static_cast<const std::byte*>(content->data());
    return onnx::parse_model(path, onnx::Bytes(begin, content->size()), std::move(owner));
}

// Empty where there is no cache, or the model is not all of the program.
inference::ProgramSource source_of(const onnx::OnnxModel& model, const std::string& path,
                                   const std::optional<nb::bytes>& content, const Operators& operators) {
    const auto folder = kernels().cache->folder();
    if (!folder || !model.data_files.empty()) return {};
    std::optional<std::string> digest = content ? cache::digest(std::string_view(content->c_str(), content->size()))
                                                : inference::digest_of_file(path, *folder);
    if (!digest) return {};
    return {fmt::format("model {}\n{}", *digest, operators.digest), path};
}

std::unique_ptr<Session> model_session(const std::string& path, const std::optional<nb::bytes>& content,
                                       const Operators& operators, int threads) {
    auto model = std::make_shared<onnx::OnnxModel>(value_or_raise(read(path, content)));
    auto library = operators.library;
    if (auto problems = onnx::check_support(*model, *library); !problems.empty()) raise(problems);
    std::vector<const onnx::OnnxValue*> outputs;
    for (const onnx::OnnxValue& output : model->graph.outputs) outputs.push_back(&output);
    auto specialise = [model, library](const std::vector<TensorData>& inputs, Progress* progress) {
        std::vector<const TensorData*> given;
        for (const TensorData& input : inputs) given.push_back(&input);
        return inference::specialise(*model, *library, given, {}, nullptr, progress);
    };
    return std::make_unique<Session>(ports_of(onnx::caller_inputs(*model)), ports_of(outputs), specialise, threads,
                                     source_of(*model, path, content, operators));
}

}  // namespace

void bind_session(nb::module_& module) {
    nb::class_<Session::Port>(module, "Port")
        .def_ro("name", &Session::Port::name)
        .def_ro("dtype", &Session::Port::dtype)
        .def_ro("shape", &Session::Port::shape);
    nb::class_<Session>(module, "Session")
        .def_ro("inputs", &Session::inputs)
        .def_ro("outputs", &Session::outputs)
        .def("run", &Session::run, nb::arg("names").none(), nb::arg("feeds"), nb::arg("progress").none())
        .def("cancel", &Session::cancel);
    // Then no thread is at work in LLVM, either.
    nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
        nb::gil_scoped_release others_run;
        kernels().cache->settle();
    }));
    module.def("use_cache", &use_cache, nb::arg("folder").none());
    module.def("model_session", &model_session, nb::arg("path"), nb::arg("content").none(), nb::arg("library"),
               nb::arg("threads"));
}

}  // namespace heddle::python
