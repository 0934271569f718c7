#include "cli/exported.h"

#include <filesystem>

#include <fmt/format.h>

#include "cli/bindings.h"

namespace heddle::cli {

Result<Exported> Exported::open(const CompileOptions& options, const Library& library) {
    Exported opened(options, library);
    auto given = read_inputs(options.inputs);
    if (!given) return fail(std::move(given.error()));
    opened.given_ = std::move(*given);
    if (options.model.empty()) return opened;
    auto model = onnx::read_model(options.model);
    if (!model) return fail(std::move(model.error()));
    opened.model_ = std::make_shared<onnx::OnnxModel>(std::move(*model));
    return opened;
}

Result<std::vector<artefact::Dimension>> Exported::dimensions() const {
    const auto bindable = model_ ? dimensions_of(*model_) : dimensions_in(options_.input_types);
    const auto resolved = resolve_bindings(options_.bindings, bindable);
    if (!resolved) return fail(resolved.error());
    return artefact::parse_dimensions(*resolved);
}

Result<Graph> Exported::graph(const artefact::SizeNames& sizes) {
    auto source = load(sizes);
    if (!source) return fail(std::move(source.error()));
    input_names_ = source->input_names;
    output_names_ = source->output_names;
    return std::move(source->graph);
}

void Exported::name(std::vector<artefact::Argument>& inputs, std::vector<artefact::Argument>& outputs) const {
    for (size_t i = 0; i < inputs.size(); i++) inputs[i].name = input_names_[i];
    for (size_t i = 0; i < outputs.size(); i++) outputs[i].name = output_names_[i];
}

std::string Exported::name() const {
    if (!options_.name.empty()) return options_.name;
    return options_.model.empty() ? "program" : std::filesystem::path(options_.model).stem().string();
}

Result<Source> Exported::load(artefact::SizeNames sizes) const {
    if (model_) {
        std::vector<std::string> bindings;
        for (const auto& [name, size] : sizes) bindings.push_back(fmt::format("{}={}", name, size));
        return load_model(*model_, library_, given_, bindings, options_.rules, nullptr);
    }
    auto inputs = read_input_types(options_.input_types, sizes);
    if (!inputs) return fail(std::move(inputs.error()));
    SizeFacts facts;
    auto source = [&] {
        const RecordingFacts recording(facts);
        return load_call(options_.call, library_, *inputs, options_.rules);
    }();
    if (source) source->graph.dimension_names = std::move(sizes);
    if (source) source->graph.facts = std::move(facts);
    return source;
}

}  // namespace heddle::cli
