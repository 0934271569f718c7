#include "inference/build_info.h"
#include "python/python.h"

namespace heddle::python {

void raise(const Diagnostics& problems) {
    nb::object type = nb::module_::import_("heddle._errors").attr("Error");
    nb::object error = type(nb::str(render_json(problems).c_str()));
    PyErr_SetObject(type.ptr(), error.ptr());
    throw nb::python_error();
}

void warn(const Diagnostics& notes) {
    for (const Diagnostic& note : notes) {
        const std::string text = note.found.empty() ? note.summary : note.summary + ": " + note.found;
        if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) != 0) throw nb::python_error();
    }
}

}  // namespace heddle::python

NB_MODULE(_heddle, module) {
    // What modules still hold when the interpreter ends (the shipped library, functions of a script) is no news to a user.
    nanobind::set_leak_warnings(false);
    module.def("build_info", [] {
        const heddle::inference::BuildInfo info = heddle::inference::build_info();
        return std::map<std::string, std::string>{{"version", info.version}, {"commit", info.commit},
                                                  {"llvm", info.llvm},       {"triple", info.triple},
                                                  {"cpu", info.cpu},         {"features", info.features}};
    });
    heddle::python::bind_session(module);
    heddle::python::bind_library(module);
    heddle::python::bind_graph(module);
    heddle::python::bind_model(module);
    heddle::python::bind_explain(module);
    heddle::python::bind_onnxruntime(module);
    heddle::python::bind_places(module);
}
