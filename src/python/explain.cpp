// Explanations of operators, and programs rewritten by rules.
#include "explain/explanation.h"

#include "explain/rewriting.h"
#include "inference/host.h"
#include "python/library.h"
#include "target/tags.h"

namespace heddle::python {
namespace {

explain::Explanation explanation(const Operators& operators, const std::string& name,
                                 const std::vector<std::string>& arguments, const std::string& target,
                                 const explain::ExplanationOptions& options) {
    const auto machine = [&]() -> Result<Target> {
        if (!target.empty()) return TargetTags::built_in().open(target);
        return inference::host_target(kept_folder().get());
    };
    auto explained = [&] {
        nb::gil_scoped_release others_run;
        return explain::explain(*operators.library, name, arguments, machine, options);
    }();
    if (!explained) raise(explained.error());
    warn(explained->notes);
    return std::move(*explained);
}

nb::tuple rewritten(const Operators& operators, const std::string& program, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& rules, std::optional<int64_t> limit) {
    auto result = value_or_raise([&] {
        nb::gil_scoped_release others_run;
        return explain::rewrite_program(std::make_shared<SourceText>("program", program), *operators.library, inputs,
                                        rules, limit);
    }());
    return nb::make_tuple(result.before, result.after, result.steps);
}

}  // namespace

void bind_explain(nb::module_& module) {
    nb::class_<explain::Explanation>(module, "Explanation")
        .def("json", &explain::Explanation::json)
        .def("text", &explain::Explanation::text)
        .def_ro("svg", &explain::Explanation::svg);
    nb::class_<explain::ExplanationOptions>(module, "ExplanationOptions")
        .def(nb::init<>())
        .def_rw("notations", &explain::ExplanationOptions::notations)
        .def_rw("gradient", &explain::ExplanationOptions::gradient)
        .def_rw("equations", &explain::ExplanationOptions::equations)
        .def_rw("schedule", &explain::ExplanationOptions::schedule)
        .def_rw("source", &explain::ExplanationOptions::source)
        .def_rw("shards", &explain::ExplanationOptions::shards)
        .def_rw("one_round", &explain::ExplanationOptions::one_round)
        .def_rw("picture", &explain::ExplanationOptions::picture);
    module.def("explain", &explanation);
    module.def("rewrite", &rewritten, nb::arg("library"), nb::arg("program"), nb::arg("inputs"), nb::arg("rules"),
               nb::arg("limit").none());
}

}  // namespace heddle::python
