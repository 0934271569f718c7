#include "target/write_target.h"

#include <charconv>

#include "target/facts.h"

namespace heddle {
namespace {

using Json = nlohmann::ordered_json;

template <typename Owner>
Json member_json(const Owner& owner, const SchemaField<Owner>& field, TargetFacts facts, bool tags);

template <typename Entry>
Json entry_json(const Entry& entry, const std::vector<SchemaField<Entry>>& fields, TargetFacts facts, bool tags) {
    static const Entry fresh;
    Json json = Json::object();
    for (const auto& field : fields) {
        Json value = member_json(entry, field, facts, tags);
        if (field.required || value != member_json(fresh, field, facts, tags)) json[field.name] = std::move(value);
    }
    return json;
}

// Devices, scopes and machines: an object, by their names.
template <typename Entry>
Json entries_json(const std::vector<Entry>& entries, const std::vector<SchemaField<Entry>>& fields, TargetFacts facts,
                  bool tags) {
    Json json = Json::object();
    for (const Entry& entry : entries) json[entry.name] = entry_json(entry, fields, facts, tags);
    return json;
}

struct MemberJson {
    TargetFacts facts;
    bool tags;

    template <typename Plain>
    Json operator()(const Plain& value) const {
        return value;
    }
    Json operator()(const std::shared_ptr<const Target>& target) const {
        return target ? target_json(*target, facts, tags) : Json();
    }
    Json operator()(const std::vector<MemoryScope>& scopes) const {
        return entries_json(scopes, scope_fields(), facts, tags);
    }
    Json operator()(const std::vector<SystemDevice>& devices) const {
        Json json = entries_json(devices, device_fields(), facts, tags);
        // Ids say which device is meant, zero too.
        for (const SystemDevice& device : devices) json[device.name]["id"] = device.id;
        return json;
    }
    Json operator()(const std::vector<ClusterMachine>& machines) const {
        return entries_json(machines, machine_fields(), facts, tags);
    }
    Json operator()(const std::vector<SystemLink>& links) const {
        Json json = Json::array();
        for (const SystemLink& link : links) json.push_back(entry_json(link, link_fields(), facts, tags));
        return json;
    }
};

template <typename Owner>
Json member_json(const Owner& owner, const SchemaField<Owner>& field, TargetFacts facts, bool tags) {
    return std::visit([&](auto member) { return MemberJson{facts, tags}(owner.*member); }, field.member);
}

bool is_written(const Target& target, const SchemaField<Target>& field, const KindFacts* kind, TargetFacts facts) {
    const std::string_view name = field.name;
    if (name == "kind" && target.level() >= TargetLevel::machine) return true;
    const TargetOrigin::Kind origin = origin_of(target, field).kind;
    if (facts == TargetFacts::stated && origin == TargetOrigin::Kind::derived) return false;
    if (origin != TargetOrigin::Kind::assumed) return true;
    if (facts != TargetFacts::complete) return false;
    // "cpu" and "features" are written even where they are empty: that no name is known is what code follows from.
    const bool empty = has_unknown(field) && name != "cpu" && name != "features";
    return !empty && (!kind || kind->has_group(field.group));
}

}  // namespace

nlohmann::ordered_json field_json(const Target& target, const SchemaField<Target>& field, TargetFacts facts) {
    return member_json(target, field, facts, false);
}

nlohmann::ordered_json target_json(const Target& target, TargetFacts facts, bool tags) {
    if (tags && !target.tag.empty()) {
        Json json = {{"tag", target.tag}};
        if (!target.overrides.empty()) json.update(Json::parse(target.overrides));
        return json;
    }
    const std::string kind_name = kind_of(target);
    const KindFacts* kind = find_kind(kind_name);
    Json json = Json::object();
    for (const auto& field : target_fields()) {
        if (!is_written(target, field, kind, facts)) continue;
        json[field.name] = member_json(target, field, facts, tags);
    }
    if (json.contains("kind")) json["kind"] = kind_name;
    return json;
}

nlohmann::json json_of(const JsonValue& value) {
    using enum JsonValue::Kind;
    switch (value.kind) {
    case null: return nullptr;
    case boolean: return value.text == "true";
    case integer: return value.integer;
    case number: {
        double number = 0;
        std::from_chars(value.text.data(), value.text.data() + value.text.size(), number);
        return number;
    }
    case string: return value.text;
    case array: {
        nlohmann::json json = nlohmann::json::array();
        each_element(value, [&](const JsonValue& item) { json.push_back(json_of(item)); });
        return json;
    }
    case object: break;
    }
    nlohmann::json json = nlohmann::json::object();
    for (const JsonValue& item : value.items) json[item.name] = json_of(item);
    return json;
}

std::string print(const Target& target, TargetText form) {
    if (form == TargetText::written) return target_json(target, TargetFacts::stated, true).dump(2) + "\n";
    const TargetFacts facts = form == TargetText::expanded ? TargetFacts::known : TargetFacts::complete;
    return target_json(target, facts).dump(2) + "\n";
}

}  // namespace heddle
