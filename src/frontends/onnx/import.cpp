#include "frontends/onnx/importer.h"

namespace heddle::onnx {

Diagnostic list_input(const OnnxValue& input) {
    return {.code = "onnx.step",
            .summary = fmt::format("input '{}' is of type '{}'", input.name, input.type_text),
            .expected = "a tensor",
            .reason = "lists are values between graphs, and here is one graph",
            .remedy = "run the model: `heddle run`, heddle.InferenceSession",
            .params = {{"input", input.name}}};
}

Result<ImportedModel> import_model(const OnnxModel& model, const Library& library, const ImportOptions& options) {
    auto calls = Importer(model, library, options).run(false);
    if (!calls) return fail(std::move(calls.error()));
    ImportedModel imported;
    for (TensorId input : calls->session.deciding_inputs())
        imported.deciding_inputs.push_back(calls->session.graph().tensor(input).name);
    imported.free_weights = std::move(calls->free_weights);
    imported.graph = calls->session.finish(std::move(calls->outputs));
    imported.graph.dimension_names = std::move(calls->dimension_names);
    return imported;
}

Result<ImportedCalls> import_calls(const OnnxModel& model, const Library& library, const ImportOptions& options) {
    return Importer(model, library, options).run(true);
}

}  // namespace heddle::onnx
