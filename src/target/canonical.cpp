#include "target/canonical.h"

#include <algorithm>

#include <fmt/format.h>

#include "target/facts.h"
#include "target/write_target.h"

namespace heddle {
namespace {

// Lists whose order says nothing are sorted by their text.
nlohmann::json sorted_links(const nlohmann::json& links) {
    std::vector<nlohmann::json> list(links.begin(), links.end());
    std::ranges::sort(list, {}, [](const nlohmann::json& link) { return link.dump(); });
    return list;
}

nlohmann::json facts_of(const Target& target) {
    nlohmann::json json = target_json(target, TargetFacts::known);
    json.erase("name");
    json.erase("features");
    if (const std::string features = features_beside_cpu(target); !features.empty()) json["features"] = features;
    if (target.host) json["host"] = facts_of(*target.host);
    for (const SystemDevice& device : target.devices) {
        if (device.target) json["devices"][device.name]["target"] = facts_of(*device.target);
    }
    for (const ClusterMachine& machine : target.machines) {
        if (machine.target) json["machines"][machine.name]["target"] = facts_of(*machine.target);
    }
    if (json.contains("links")) json["links"] = sorted_links(json["links"]);
    return json;
}

}  // namespace

std::string canonical_bytes(const Target& target) {
    return fmt::format("heddle target {}\n{}\n", target_schema_version, facts_of(target).dump());
}

std::string hash_text(const Target& target) {
    using Wide = unsigned __int128;
    constexpr Wide prime = (Wide{1} << 88) + 0x13b;
    Wide hash = (Wide{0x6c62272e07bb0142} << 64) + 0x62b821756295c58d;
    for (const unsigned char byte : canonical_bytes(target)) hash = (hash ^ byte) * prime;
    return fmt::format("{:016x}{:016x}", static_cast<uint64_t>(hash >> 64), static_cast<uint64_t>(hash));
}

bool is_same(const Target& a, const Target& b) { return canonical_bytes(a) == canonical_bytes(b); }

}  // namespace heddle
