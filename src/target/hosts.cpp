#include "target/hosts.h"

#include <fmt/format.h>

#include "target/canonical.h"
#include "target/facts.h"
#include "target/write_target.h"

namespace heddle {

std::string short_text(const Target& target) {
    if (!target.tag.empty()) return target.tag + (target.overrides.empty() ? "" : " with " + target.overrides);
    std::string text = kind_of(target);
    for (const std::string* part : {&target.library, &target.version, &target.arch, &target.cpu}) {
        if (!part->empty()) text += " " + *part;
    }
    const bool bare = target.cpu.empty() && !target.features.empty();
    return bare ? text + " " + target.features : text;
}

Result<Target> with_host(Target device, const Target& host) {
    const KindFacts* kind = find_kind(kind_of(host));
    if (!kind || !kind->launches || host.host) {
        return fail(
            {.code = "target.value", .summary = fmt::format("'{}' launches no kernels of others", short_text(host))});
    }
    if (device.host && canonical_bytes(*device.host) != canonical_bytes(host)) {
        return fail({.code = "target.host_conflict",
                     .summary = fmt::format("'{}' has the host '{}', and '{}' is a second one", short_text(device),
                                            short_text(*device.host), short_text(host)),
                     .remedy = "give one host"});
    }
    if (device.host) return device;
    device.host = std::make_shared<const Target>(host);
    device.origins["host"] = {TargetOrigin::Kind::program, {}};
    return device;
}

Target with_default_host(Target device) {
    const KindFacts* kind = find_kind(kind_of(device));
    if (device.host || !kind || !kind->needs_host) return device;
    auto host = parse_target(std::make_shared<const SourceText>("facts/kinds.json", kind->default_host));
    if (!host) return device;  // tests read those of all kinds
    for (auto& [field, origin] : host->origins) {
        if (origin.kind == TargetOrigin::Kind::text) origin = {TargetOrigin::Kind::chosen, "kind " + kind->name};
    }
    auto hosted = with_host(device, *host);
    if (!hosted) return device;  // nor does this happen to any
    hosted->origins["host"] = {TargetOrigin::Kind::chosen, "kind " + kind->name};
    return std::move(*hosted);
}

}  // namespace heddle
