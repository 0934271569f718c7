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
    if (!target.cpu.empty() || target.features.empty()) return text;
    constexpr size_t longest = 60;
    if (target.features.size() <= longest) return text + " " + target.features;
    return fmt::format("{} with {} features", text, features_of(target).size());
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

namespace {

// `host` is right: with_host has no reason to refuse it, and tests try those of all kinds.
Target hosted_by(const Target& device, const Target& host, TargetOrigin origin) {
    auto hosted = with_host(device, host);
    if (!hosted) return device;
    hosted->origins["host"] = std::move(origin);
    return std::move(*hosted);
}

Target with_kinds_host(const Target& device) {
    const KindFacts* kind = find_kind(kind_of(device));
    if (device.host || !kind || !kind->needs_host) return device;
    auto host = parse_target(std::make_shared<const SourceText>("facts/kinds.json", kind->default_host));
    if (!host) return device;
    for (auto& [field, origin] : host->origins) {
        if (origin.kind == TargetOrigin::Kind::text) origin = {TargetOrigin::Kind::chosen, "kind " + kind->name};
    }
    return hosted_by(device, *host, {TargetOrigin::Kind::chosen, "kind " + kind->name});
}

// A device, or each machine of a cluster that is one.
template <typename Host>
Target each_hosted(Target target, const Host& host) {
    if (target.level() == TargetLevel::device) return host(target);
    for (ClusterMachine& machine : target.machines) {
        if (machine.target && machine.target->level() == TargetLevel::device)
            machine.target = std::make_shared<const Target>(host(*machine.target));
    }
    return target;
}

// Of a cluster's machines: of those that are a device whose host nobody gave.
std::string chosen_hosts(const Target& cluster) {
    std::string text;
    for (const ClusterMachine& machine : cluster.machines) {
        if (!machine.target || !machine.target->host) continue;
        const auto origin = machine.target->origins.find("host");
        const bool given =
            origin == machine.target->origins.end() ||
            (origin->second.kind != TargetOrigin::Kind::chosen && origin->second.kind != TargetOrigin::Kind::detected);
        if (!given) text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", machine.name, host_text(*machine.target));
    }
    return text;
}

}  // namespace

Target with_default_host(Target target) { return each_hosted(std::move(target), with_kinds_host); }

Target with_this_host(Target target, const Target& here) {
    return each_hosted(std::move(target), [&](const Target& device) {
        const KindFacts* kind = find_kind(kind_of(device));
        if (!kind || kind->launches) return device;
        return hosted_by(device, here, {TargetOrigin::Kind::detected, "this machine"});
    });
}

std::string host_text(const Target& device) {
    if (device.level() == TargetLevel::cluster) return chosen_hosts(device);
    if (!device.host) return {};
    const auto found = device.origins.find("host");
    const TargetOrigin origin = found == device.origins.end() ? TargetOrigin{} : found->second;
    const auto why = [&]() -> std::string {
        switch (origin.kind) {
        case TargetOrigin::Kind::chosen: return origin.detail + " chooses it, since none is given";
        case TargetOrigin::Kind::detected: return origin.detail + ", since none is given";
        case TargetOrigin::Kind::tag: return "the tag " + origin.detail + " says so";
        case TargetOrigin::Kind::text: return "as written";
        case TargetOrigin::Kind::override: return "as written beside the tag";
        default: return "the program says so";
        }
    };
    return short_text(*device.host) + ": " + why();
}

}  // namespace heddle
