// The table of fields as JSON Schema.
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "target/facts.h"
#include "target/schema.h"

namespace heddle {
namespace {

using Json = nlohmann::ordered_json;

Json reference(std::string_view definition) { return {{"$ref", fmt::format("#/definitions/{}", definition)}}; }

struct MemberSchema {
    template <typename Owner>
    Json of(const SchemaField<Owner>& field) const {
        Json json = std::visit([&](auto member) { return type(member, field); }, field.member);
        std::string says = field.meaning;
        if (*field.unit) says += fmt::format(", {}", field.unit);
        if (!json.contains("$ref")) {
            json["description"] = says;
            return json;
        }
        return {{"description", says}, {"allOf", Json::array({json})}};  // beside a $ref, draft 7 ignores all else
    }

private:
    template <typename Owner>
    static Json type(std::string Owner::*, const SchemaField<Owner>& field) {
        Json text = {{"type", "string"}};
        if (field.vocabulary == Vocabulary::kinds || field.vocabulary == Vocabulary::systems)
            text["enum"] = names_for(field.vocabulary, {});
        if (field.vocabulary != Vocabulary::features) return text;
        return {{"anyOf", Json::array({text, {{"type", "array"}, {"items", text}}})}};
    }
    template <typename Owner>
    static Json type(bool Owner::*, const SchemaField<Owner>&) {
        return {{"type", "boolean"}};
    }
    template <typename Owner>
    static Json type(int Owner::*, const SchemaField<Owner>& field) {
        return {{"type", "integer"}, {"minimum", field.least}, {"maximum", INT32_MAX}};
    }
    template <typename Owner>
    static Json type(int64_t Owner::*, const SchemaField<Owner>& field) {
        return {{"type", "integer"}, {"minimum", field.least}};
    }
    template <typename Owner>
    static Json type(double Owner::*, const SchemaField<Owner>& field) {
        return {{"type", "number"}, {field.above_least ? "exclusiveMinimum" : "minimum", field.least}};
    }
    template <typename Owner>
    static Json type(std::map<std::string, std::string> Owner::*, const SchemaField<Owner>&) {
        return {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
    }
    template <typename Owner>
    static Json type(std::shared_ptr<const Target> Owner::*, const SchemaField<Owner>&) {
        return reference("target");
    }
    static Json named(std::string_view definition) {
        return {{"type", "object"},
                {"minProperties", 1},
                {"propertyNames", {{"pattern", "^[^:/]+$"}}},
                {"additionalProperties", reference(definition)}};
    }
    template <typename Owner>
    static Json type(std::vector<MemoryScope> Owner::*, const SchemaField<Owner>&) {
        return named("scope");
    }
    template <typename Owner>
    static Json type(std::vector<SystemDevice> Owner::*, const SchemaField<Owner>&) {
        return named("device");
    }
    template <typename Owner>
    static Json type(std::vector<ClusterMachine> Owner::*, const SchemaField<Owner>&) {
        return named("machine");
    }
    template <typename Owner>
    static Json type(std::vector<SystemLink> Owner::*, const SchemaField<Owner>&) {
        return {{"type", "array"}, {"items", reference("link")}};
    }
};

template <typename Entry>
Json entry_schema(const std::vector<SchemaField<Entry>>& fields) {
    Json properties = Json::object(), required = Json::array();
    for (const auto& field : fields) {
        properties[field.name] = MemberSchema().of(field);
        if (field.required) required.push_back(field.name);
    }
    Json json = {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
    if (!required.empty()) json["required"] = required;
    return json;
}

// Which fields this kind has not.
Json rule_of(const KindFacts& kind) {
    Json without = Json::object();
    for (const auto& field : target_fields()) {
        const bool host = std::string_view(field.name) == "host";
        if (!(host ? kind.level == TargetLevel::device : kind.has_group(field.group))) without[field.name] = false;
    }
    Json then = {{"properties", without}};
    if (!kind.architectures.empty()) then["properties"]["arch"] = {{"enum", kind.architecture_names()}};
    if (!kind.instruction_sets.empty()) then["properties"]["arch"] = {{"enum", kind.instruction_sets}};
    // What a tag says need not be said beside it.
    if (!kind.required.empty()) then["anyOf"] = {{{"required", kind.required}}, {{"required", {"tag"}}}};
    return {{"if", {{"required", {"kind"}}, {"properties", {{"kind", {{"const", kind.name}}}}}}}, {"then", then}};
}

Json target_object() {
    Json properties = {{"tag", {{"type", "string"}, {"description", "what the other keys are merged over"}}},
                       {"schema", {{"const", target_schema_version}, {"description", "of the outermost target"}}}};
    for (const auto& field : target_fields()) {
        properties[field.name] = MemberSchema().of(field);
    }
    for (const OtherName& name : other_target_names()) {
        Json same = properties[name.ours];
        same["description"] = fmt::format("read as '{}'", name.ours);
        properties[name.other] = std::move(same);
    }
    Json rules = Json::array();
    for (const KindFacts& kind : target_kinds()) rules.push_back(rule_of(kind));
    return {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}, {"allOf", rules}};
}

}  // namespace

std::string target_json_schema() {
    const Json definitions = {
        {"target", {{"anyOf", Json::array({{{"type", "string"}, {"description", "a tag"}}, target_object()})}}},
        {"device", entry_schema(device_fields())},
        {"scope", entry_schema(scope_fields())},
        {"link", entry_schema(link_fields())},
        {"machine", entry_schema(machine_fields())},
    };
    const Json tags = {
        {"type", "object"},
        {"required", {"schema", "tags"}},
        {"properties",
         {{"schema", {{"const", target_schema_version}}},
          {"tags",
           {{"type", "object"},
            {"additionalProperties",
             {{"type", "object"},
              {"required", {"target"}},
              {"properties",
               {{"means", {{"type", "string"}}}, {"source", {{"type", "string"}}}, {"target", reference("target")}}},
              {"additionalProperties", false}}}}}}},
        {"additionalProperties", false}};
    const Json schema = {
        {"$schema", "http://json-schema.org/draft-07/schema#"},
        {"title", "Heddle's targets, and files of tags"},
        {"if", {{"type", "object"}, {"required", {"tags"}}}},
        {"then", tags},
        {"else", reference("target")},
        {"definitions", definitions},
    };
    return schema.dump(2) + "\n";
}

}  // namespace heddle
