#include "target/explain_target.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "target/facts.h"
#include "target/write_target.h"

namespace heddle {
namespace {

using Json = nlohmann::ordered_json;

class Rows {
public:
    explicit Rows(bool assumed) : assumed_(assumed) {}

    std::vector<TargetRow> rows;

    void target(const Target& target, const std::string& path) {
        const KindFacts* kind = find_kind(kind_of(target));
        for (const auto& field : target_fields()) {
            const TargetOrigin origin = origin_of(target, field);
            const std::string_view name = field.name;
            if (name == "kind" && (assumed_ || target.level() >= TargetLevel::machine || is_known(target, field))) {
                rows.push_back({path + ".kind", Json(kind_of(target)).dump(), origin, field.unit, field.meaning});
                continue;
            }
            if (origin.kind == TargetOrigin::Kind::assumed) {
                const bool says_nothing = !assumed_ || has_unknown(field) || (kind && !kind->has_group(field.group));
                if (says_nothing || name == "name") continue;
            }
            std::visit([&](auto member) { value(target.*member, field, origin, path + "." + field.name); },
                       field.member);
        }
    }

private:
    template <typename Plain>
    void value(const Plain& plain, const SchemaField<Target>& field, const TargetOrigin& origin,
               const std::string& path) {
        rows.push_back({path, Json(plain).dump(), origin, field.unit, field.meaning});
    }

    void value(const std::shared_ptr<const Target>& inner, const SchemaField<Target>&, const TargetOrigin&,
               const std::string& path) {
        if (inner) target(*inner, path);
    }

    template <typename Entry>
    void entry(const Entry& entry, const std::vector<SchemaField<Entry>>& fields, const TargetOrigin& origin,
               const std::string& path) {
        static const Entry fresh;
        for (const auto& field : fields) {
            const auto row = [&](auto member) {
                using Value = std::decay_t<decltype(entry.*member)>;
                const std::string here = path + "." + field.name;
                if constexpr (std::is_same_v<Value, std::shared_ptr<const Target>>) {
                    if (entry.*member) target(*(entry.*member), here);
                } else if constexpr (std::is_same_v<Value, std::vector<MemoryScope>>) {
                    for (const MemoryScope& scope : entry.*member)
                        this->entry(scope, scope_fields(), origin, here + "." + scope.name);
                } else if constexpr (std::is_same_v<Value, std::string> || std::is_arithmetic_v<Value>) {
                    if (field.required || std::string_view(field.name) == "id" || entry.*member != fresh.*member)
                        rows.push_back({here, Json(entry.*member).dump(), origin, field.unit, field.meaning});
                }
            };
            std::visit(row, field.member);
        }
    }

    void value(const std::vector<SystemDevice>& devices, const SchemaField<Target>&, const TargetOrigin& origin,
               const std::string& path) {
        for (const SystemDevice& device : devices) entry(device, device_fields(), origin, path + "." + device.name);
    }

    void value(const std::vector<ClusterMachine>& machines, const SchemaField<Target>&, const TargetOrigin& origin,
               const std::string& path) {
        for (const ClusterMachine& machine : machines)
            entry(machine, machine_fields(), origin, path + "." + machine.name);
    }

    void value(const std::vector<SystemLink>& links, const SchemaField<Target>&, const TargetOrigin& origin,
               const std::string& path) {
        size_t number = 0;
        for (const SystemLink& link : links) entry(link, link_fields(), origin, fmt::format("{}[{}]", path, number++));
    }

    const bool assumed_;
};

}  // namespace

std::vector<TargetRow> explain_target(const Target& target, bool assumed) {
    Rows rows(assumed);
    rows.target(target, "$");
    return std::move(rows.rows);
}

std::string origin_text(const TargetOrigin& origin) {
    const auto with_detail = [&](const std::string& name) {
        return origin.detail.empty() ? name : name + " " + origin.detail;
    };
    switch (origin.kind) {
    case TargetOrigin::Kind::assumed: return "assumed";
    case TargetOrigin::Kind::text: return "written";
    case TargetOrigin::Kind::override: return "override";
    case TargetOrigin::Kind::tag: return with_detail("tag");
    case TargetOrigin::Kind::derived: return "from " + origin.detail;
    case TargetOrigin::Kind::detected: return origin.detail;
    case TargetOrigin::Kind::measured: return "measured";
    case TargetOrigin::Kind::chosen: return with_detail("default of");
    case TargetOrigin::Kind::program: return "program";
    }
    return {};
}

std::vector<TargetDifference> difference(const Target& a, const Target& b) {
    const auto left = explain_target(a, false), right = explain_target(b, false);
    const auto is_fact = [](const TargetRow& row) { return !row.path.ends_with(".name"); };
    std::map<std::string, std::string> others;
    for (const TargetRow& row : right) others.emplace(row.path, row.value);
    std::vector<TargetDifference> all;
    for (const TargetRow& row : left) {
        if (!is_fact(row)) continue;
        const auto found = others.find(row.path);
        if (found == others.end())
            all.push_back({row.path, row.value, ""});
        else if (found->second != row.value)
            all.push_back({row.path, row.value, found->second});
    }
    for (const TargetRow& row : right) {
        const bool known = std::ranges::any_of(left, [&](const TargetRow& other) { return other.path == row.path; });
        if (!known && is_fact(row)) all.push_back({row.path, "", row.value});
    }
    return all;
}

}  // namespace heddle
