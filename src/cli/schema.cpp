#include "cli/schema.h"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "language/functions.h"
#include "language/keys.h"
#include "target/schema.h"

namespace heddle::cli {
namespace {

using Json = nlohmann::ordered_json;

Json reference(std::string_view definition) { return {{"$ref", fmt::format("#/definitions/{}", definition)}}; }

Json either(Json one, Json other) { return {{"anyOf", {std::move(one), std::move(other)}}}; }

Json list_of(Json items) { return {{"type", "array"}, {"items", std::move(items)}}; }

// A mapping with these keys and no others.
Json mapping(KeyOwner owner) {
    Json properties = Json::object();
    for (const FileKey& key : keys_of(owner)) {
        // Beside a $ref, draft 7 ignores all else.
        properties[std::string(key.name)] = {{"description", key.says}, {"allOf", Json::array({reference(key.form)})}};
    }
    return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

// A mapping from names of the user's.
Json named(Json value) {
    return {{"type", "object"},
            {"propertyNames", {{"pattern", "^[A-Za-z_][A-Za-z0-9_]*$"}}},
            {"additionalProperties", std::move(value)}};
}

// A mapping with these keys, in which every other name has such a value.
Json mapping_and(KeyOwner owner, Json others) {
    Json made = mapping(owner);
    made["propertyNames"] = named({})["propertyNames"];
    made["additionalProperties"] = std::move(others);
    return made;
}

Json metakernel() {
    Json made = mapping(KeyOwner::metakernel);
    made["required"] = {"outputs"};
    made["not"] = {{"required", {"body", "graph"}}};
    return made;
}

Json rule() {
    Json made = mapping(KeyOwner::rule);
    made["required"] = {"match", "replace"};
    return made;
}

Json definitions() {
    Json dtypes = list_of({{"enum", dtype_names()}});
    Json enumeration = {{"type", "object"},
                        {"properties", {{"enum", dtypes}}},
                        {"required", {"enum"}},
                        {"additionalProperties", false}};
    Json requirement = list_of(reference("text"));
    requirement["minItems"] = requirement["maxItems"] = 2;
    Json made;
    // Heddle reads each scalar as text; YAML's editors see numbers and truth values.
    made["text"] = {{"type", {"string", "number", "boolean"}}};
    made["texts"] = list_of(reference("text"));
    made["truth"] = {{"type", "boolean"}};
    made["version"] = {{"type", "integer"}, {"minimum", 1}};
    made["flavour"] = {{"enum", {"concrete", "transparent"}}};
    made["inputs"] = named(either(reference("text"), mapping(KeyOwner::input)));
    made["outputs"] = named(either(reference("text"), mapping(KeyOwner::output)));
    made["parameters"] = named(either(reference("text"), mapping(KeyOwner::parameter)));
    made["constraints"] = mapping_and(KeyOwner::constraints, either(dtypes, enumeration));
    made["requirements"] = list_of(requirement);
    made["kernels"] = either(reference("text"), reference("texts"));
    made["reduces"] = named(reference("text"));
    made["family"] = named({{"type", "object"}});
    made["onnx"] = mapping(KeyOwner::onnx);
    made["structured"] = either(reference("text"), list_of(reference("structured")));
    made["affine_map"] = mapping(KeyOwner::affine_map);
    made["projection"] = either(reference("text"), mapping(KeyOwner::projection));
    made["rules"] = named(rule());
    made["metakernel"] = metakernel();
    return made;
}

}  // namespace

std::string template_schema() {
    Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", "Heddle templates"}};
    schema.update(mapping_and(KeyOwner::file, reference("metakernel")));
    schema["definitions"] = definitions();
    return schema.dump(2) + "\n";
}

int print_schema(bool targets) {
    if (targets) {
        fmt::print("{}", target_json_schema());
        return 0;
    }
    fmt::print("{}", template_schema());
    return 0;
}

}  // namespace heddle::cli
