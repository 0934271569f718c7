#include "python/library.h"

#include "python/progress.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::python {
namespace {

std::shared_ptr<Library> open(const std::string& folder, const std::vector<std::string>& paths,
                              const std::map<std::string, std::string>& named,
                              const std::map<std::string, std::string>& texts,
                              std::vector<std::shared_ptr<const SourceText>>& files) {
    auto library = std::make_shared<Library>(value_or_raise(open_library(folder)));
    const auto shipped = static_cast<std::ptrdiff_t>(library->sources().size());
    Diagnostics problems;
    auto add = [&](const std::string& path, const std::string& name) {
        auto added = library->add_library(path, name);
        if (!added) problems.insert(problems.end(), added.error().begin(), added.error().end());
    };
    for (const std::string& path : paths) add(path, {});
    for (const auto& [name, path] : named) add(path, name);
    files = library->sources();
    files.erase(files.begin(), files.begin() + shipped);
    for (const auto& [name, text] : texts) {
        auto added = library->add_source(std::make_shared<SourceText>(name, text));
        if (!added) problems.insert(problems.end(), added.error().begin(), added.error().end());
    }
    if (!problems.empty()) raise(problems);
    return library;
}

// Of an argument; a variadic last input takes all remaining ones.
std::string input_name(const Template& metakernel, size_t position) {
    if (metakernel.inputs.empty()) return fmt::format("argument {}", position + 1);
    return metakernel.inputs[std::min(position, metakernel.inputs.size() - 1)].name;
}

// Everything about a call but the types of its tensors.
std::string key_of(const std::string& name, const CallArguments& arguments) {
    std::string key = name;
    for (const auto& input : arguments.inputs)
        key += fmt::format("/{}{}", input.given ? input.list ? "list" : "one" : "none", input.objects.size());
    for (const auto& [parameter, value] : arguments.parameters) key += fmt::format("/{}={}", parameter, value.print());
    return key;
}

Result<Graph> specialise_call(const Library& library, const Template& metakernel, const CallArguments& arguments,
                              const std::vector<TensorData>& tensors, Progress* progress) {
    if (auto wanted = begin_stage(progress, Stage::symbolic, 1); !wanted) return fail(wanted.error());
    heddle::Session session(library);
    session.set_progress(progress);
    std::vector<Argument> given;
    size_t next = 0;
    for (size_t i = 0; i < arguments.inputs.size(); i++) {
        const auto& input = arguments.inputs[i];
        Argument argument;
        argument.given = input.given;
        argument.list = input.list;
        for (size_t element = 0; element < input.objects.size(); element++) {
            const TensorData& tensor = tensors[next++];
            TensorId id = session.add_input(input_name(metakernel, i),
                                            {tensor.dtype(), {tensor.shape().begin(), tensor.shape().end()}});
            // More elements are never looked at.
            if (tensor.size() <= largest_folded) session.offer_value(id, tensor.clone());
            argument.tensors.push_back(id);
        }
        given.push_back(std::move(argument));
    }
    auto results = session.apply(metakernel, given, arguments.parameters);
    if (!results) return fail(std::move(results.error()));
    if (auto wanted = step_done(progress); !wanted) return fail(wanted.error());
    return session.finish(std::move(*results));
}

}  // namespace

namespace {

bool is_number(nb::handle object) {
    return (PyLong_Check(object.ptr()) && !PyBool_Check(object.ptr())) || PyFloat_Check(object.ptr());
}

// The dtype of an input as its template writes it: a name, or that of an array which has the same `$T`.
nb::object dtype_beside(const Template& metakernel, const CallArguments& arguments, const Syntax& written) {
    if (written.kind == Syntax::Kind::name) return nb::str(written.text.c_str());
    for (size_t i = 0; i < arguments.inputs.size() && i < metakernel.inputs.size(); i++) {
        const SyntaxPointer& other = metakernel.inputs[i].dtype;
        if (!other || other->kind != Syntax::Kind::static_name || other->text != written.text) continue;
        for (nb::handle object : arguments.inputs[i].objects)
            if (!is_number(object) && nb::hasattr(object, "dtype")) return object.attr("dtype");
    }
    return nb::none();
}

// A Python number is as weak as a static one in a body: it takes the other side's dtype, unless it would lose its
// fraction.
void take_dtypes(const Template& metakernel, CallArguments& arguments) {
    for (size_t i = 0; i < arguments.inputs.size() && i < metakernel.inputs.size(); i++) {
        const SyntaxPointer& written = metakernel.inputs[i].dtype;
        if (!written) continue;
        for (nb::handle& object : arguments.inputs[i].objects) {
            if (!is_number(object)) continue;
            const nb::object dtype = dtype_beside(metakernel, arguments, *written);
            if (dtype.is_none()) continue;
            try {
                nb::object made = nb::module_::import_("numpy").attr("asarray")(object, dtype);
                const auto kind = nb::cast<std::string>(made.attr("dtype").attr("kind"));
                if (PyFloat_Check(object.ptr()) && (kind == "i" || kind == "u" || kind == "b")) continue;
                arguments.made.push_back(made);
                object = arguments.made.back();
            } catch (nb::python_error&) {  // no type of NumPy's, or too great for it: it is what it is
            }
        }
    }
}

}  // namespace

CallArguments arguments_of(const Template& metakernel, const nb::tuple& inputs, const nb::dict& named) {
    CallArguments arguments;
    auto put = [&](size_t position, nb::handle object) {
        if (arguments.inputs.size() <= position) arguments.inputs.resize(position + 1);
        auto& input = arguments.inputs[position];
        if (object.is_none()) return;
        input.given = true;
        input.list = position < metakernel.inputs.size() && metakernel.inputs[position].variadic &&
                     (nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object));
        if (!input.list) return input.objects.push_back(object);
        for (nb::handle element : object) input.objects.push_back(element);
    };
    for (size_t i = 0; i < inputs.size(); i++) put(i, inputs[i]);
    for (auto [key, value] : named) {
        std::string name = nb::cast<std::string>(key);
        auto found = std::ranges::find(metakernel.inputs, name, &TensorSpec::name);
        auto position = static_cast<size_t>(found - metakernel.inputs.begin());
        if (found == metakernel.inputs.end()) {
            const Parameter* parameter = metakernel.parameter(name);
            bool dtype = parameter && parameter->type.kind == ParameterType::Kind::dtype && !value.is_none();
            arguments.parameters[name] = dtype ? StaticValue::of(dtype_of(value)) : parameter_of(value, name);
        } else if (position < arguments.inputs.size() && arguments.inputs[position].given) {
            raise({{.code = "python.argument",
                    .summary = fmt::format("input '{}' of {} is given twice", name, metakernel.name),
                    .params = {{"operator", metakernel.name}, {"input", name}}}});
        } else {
            put(position, value);
        }
    }
    take_dtypes(metakernel, arguments);
    return arguments;
}

Operators::Operators(const std::string& folder, const std::vector<std::string>& paths,
                     const std::map<std::string, std::string>& named, const std::map<std::string, std::string>& texts,
                     int threads)
    : library(open(folder, paths, named, texts, files)),
      digest(fmt::format("libraries {} {} {}", inference::digest_of(*library), fmt::join(paths, " "),
                         fmt::join(named, " "))),
      programs_(engine_of(threads), {"call " + digest, ""}) {}

nb::object Operators::call(const std::string& name, const nb::tuple& inputs, const nb::dict& named,
                           nb::object progress) {
    const Template& metakernel = *value_or_raise(library->find(name));
    CallArguments arguments = arguments_of(metakernel, inputs, named);
    std::vector<Array> arrays;
    std::vector<TensorData> tensors;
    for (size_t i = 0; i < arguments.inputs.size(); i++) {
        std::string input = input_name(metakernel, i);
        for (nb::handle object : arguments.inputs[i].objects) {
            arrays.push_back(array_of(object, input));
            tensors.push_back(arrays.back().tensor);
        }
    }
    const auto specialise = [&](const std::vector<TensorData>& given, Progress* told) {
        return specialise_call(*library, metakernel, arguments, given, told);
    };
    auto results = watched(std::move(progress), calls_, [&](Progress& told) {
        return programs_.run(key_of(name, arguments), tensors, specialise, &told);
    });
    if (!results) raise(results.error());
    warn(notes_of(programs_));
    if (results->size() == 1) return to_python(results->front());
    nb::list answer;
    for (const TensorData& result : *results) answer.append(to_python(result));
    return nb::tuple(answer);
}

void bind_library(nb::module_& module) {
    nb::class_<Operators>(module, "Library")
        .def(nb::init<const std::string&, const std::vector<std::string>&, const std::map<std::string, std::string>&,
                      const std::map<std::string, std::string>&, int>())
        .def_prop_ro("digest", [](const Operators& operators) { return operators.digest; })
        .def_prop_ro("files",
                     [](const Operators& operators) {
                         std::map<std::string, std::string> files;
                         for (const auto& source : operators.files) files.emplace(source->name(), source->text());
                         return files;
                     })
        .def("names", [](const Operators& operators) { return operators.library->names(); })
        .def("call", &Operators::call, nb::arg("name"), nb::arg("inputs"), nb::arg("named"), nb::arg("progress").none())
        .def("cancel", &Operators::cancel);
}

}  // namespace heddle::python
