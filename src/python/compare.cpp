// What a session computes, beside something that does not share its code.
#include <algorithm>

#include <fmt/format.h>

#include "evaluate/work.h"
#include "inference/compare_tensors.h"
#include "python/progress.h"

namespace heddle::python {
namespace {

constexpr double interpreted_share = 0.01;  // of the work: the interpreter takes a hundred times as long

Result<std::vector<inference::Verdict>> compared(const inference::Specialise& specialise,
                                                 const std::vector<TensorData>& tensors, inference::Engine& engine,
                                                 double work, const inference::ComparisonOptions& options) {
    auto graph = specialise(tensors, options.progress);
    if (!graph) return fail(std::move(graph.error()));
    std::vector<std::string> names;
    std::vector<TensorType> types;
    for (TensorId input : graph->inputs) {
        names.push_back(graph->tensor(input).name);
        types.push_back(graph->tensor(input).type);
    }
    if (auto fine = runtime::check_inputs(names, types, tensors); !fine) return fail(std::move(fine.error()));
    if (auto fine = check_work(*graph, work, interpreted_share, "work"); !fine) return fail(std::move(fine.error()));
    return inference::compare_tensors(std::move(*graph), tensors, engine, options);
}

}  // namespace

nb::tuple Session::compare(const nb::dict& feeds, bool unfused, double work, int threads, nb::object progress) {
    const Given given = this->given(feeds, false);
    const auto tensors = inference::tensors_of(given.values);
    if (!tensors) raise(tensors.error());
    const auto engine = engine_of(threads);
    Diagnostics notes;
    auto verdicts = watched(std::move(progress), calls_, [&](Progress& told) {
        return compared(specialise_, *tensors, *engine, work,
                        {.unfused = unfused, .progress = &told, .notes = &notes});
    });
    if (!verdicts) raise(verdicts.error());
    warn(notes);
    const std::string with = unfused ? "unfused" : "reference";
    return nb::make_tuple(inference::all_within(*verdicts), inference::verdicts_text(*verdicts, with),
                          inference::verdicts_json(*verdicts, with));
}

nb::tuple Session::compare_outputs(const nb::list& found, const nb::list& expected) const {
    if (expected.size() != outputs.size()) {
        raise({{.code = "python.argument",
                .summary = fmt::format("{} outputs are expected", expected.size()),
                .expected = fmt::format("{}: one for each output of the session", outputs.size())}});
    }
    std::vector<Array> arrays;
    std::vector<std::string> names;
    std::vector<TensorData> ours, theirs;
    for (size_t i = 0; i < outputs.size(); i++) {
        names.push_back(outputs[i].name);
        const auto add = [&](const nb::object& object, std::vector<TensorData>& tensors) {
            arrays.push_back(array_of(object, outputs[i].name));
            tensors.push_back(arrays.back().tensor);
        };
        add(found[i], ours);
        add(expected[i], theirs);
    }
    const auto verdicts = inference::compare_outputs(names, ours, theirs);
    std::string text;
    for (const inference::OutputVerdict& verdict : verdicts)
        text += fmt::format("{}: {}\n", verdict.name, verdict.text);
    return nb::make_tuple(std::ranges::all_of(verdicts, &inference::OutputVerdict::equal), text,
                          inference::outputs_json(verdicts, "arrays"));
}

}  // namespace heddle::python
