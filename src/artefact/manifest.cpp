#include "artefact/manifest.h"

#include <nlohmann/json.hpp>

#include <filesystem>

#include <fmt/format.h>

#include "inference/build_info.h"

namespace heddle::artefact {
namespace {

using Json = nlohmann::ordered_json;

// A size that is always the same is a number.
Json argument_json(const Argument& argument) {
    Json shape = Json::array();
    for (size_t d = 0; d < argument.shape.size(); d++) {
        const std::string& text = argument.sizes[d];
        text == std::to_string(argument.shape[d]) ? shape.push_back(argument.shape[d]) : shape.push_back(text);
    }
    Json json = {{"name", argument.name}, {"dtype", std::string(name(argument.dtype))}, {"shape", shape}};
    if (argument.is_list) json["list"] = true;
    if (argument.may_be_absent) json["optional"] = true;
    return json;
}

Json arguments_json(const std::vector<Argument>& arguments) {
    Json list = Json::array();
    for (const Argument& argument : arguments) list.push_back(argument_json(argument));
    return list;
}

Json variant_json(const Variant& variant, const std::vector<Dimension>& dimensions) {
    Json groups = Json::array();
    for (const Group& group : variant.groups) {
        Json ranges = Json::object();
        for (size_t d = 0; d < dimensions.size(); d++)
            ranges[dimensions[d].name] = {group.domain.ranges[d].least, group.domain.ranges[d].most};
        groups.push_back({{"within", ranges},
                          {"facts", group.domain.facts.size()},
                          {"launches", group.launches.size()},
                          {"workspace_bytes", group.workspace_text},
                          {"scratch_bytes_each_worker", group.scratch_text}});
    }
    return {{"target", Json::parse(print(variant.target), nullptr, false)},
            {"kernels", variant.kernels.size()},
            {"groups", groups}};
}

}  // namespace

Json manifest_of(const Program& program, const ArtefactOptions& options, const std::vector<WrittenFile>& files,
                 const std::string& digest) {
    Json dimensions = Json::array();
    for (const Dimension& dimension : program.dimensions)
        dimensions.push_back(
            {{"name", dimension.name}, {"from", dimension.from}, {"to", dimension.to}, {"step", dimension.step}});
    Json variants = Json::array();
    for (const Variant& variant : program.variants) variants.push_back(variant_json(variant, program.dimensions));
    Json list = Json::array();
    for (const WrittenFile& file : files)
        list.push_back({{"name", std::filesystem::path(file.path).filename().string()}, {"bytes", file.bytes}});
    return {{"format", "heddle.artefact/1"},
            {"heddle", inference::build_info().version},
            {"name", program.name},
            {"hash", digest},
            {"inputs", arguments_json(program.inputs)},
            {"outputs", arguments_json(program.outputs)},
            {"dimensions", dimensions},
            {"weights", options.weights_beside ? program.name + ".weights" : "inside"},
            {"weight_bytes", program.weights.bytes()},
            {"variants", variants},
            {"files", list}};
}

std::string manifest_text(const Json& manifest) {
    return manifest.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace heddle::artefact
