#include "target/decompose.h"

#include <algorithm>

#include <fmt/format.h>

#include "target/canonical.h"
#include "target/hosts.h"
#include "target/read_target.h"
#include "target/write_target.h"

namespace heddle {
namespace {

const SystemDevice* find_device(const Target& machine, const std::string& name) {
    const auto found = std::ranges::find(machine.devices, name, &SystemDevice::name);
    return found == machine.devices.end() ? nullptr : &*found;
}

// The device as the machine makes it: with the host that the machine names. Its own tag has no host, so that one stands
// beside the tag; what has none is what "MACHINE:DEVICE" names, where the machine has a tag.
Target device_with_host(const Target& machine, const SystemDevice& device) {
    Target part = *device.target;
    const std::string& tag = machine.overrides.empty() ? machine.tag : "";
    if (part.tag.empty() && !tag.empty()) part.tag = tag + ":" + device.name;
    const SystemDevice* host = find_device(machine, device.host);
    if (!host) return part;
    part.host = host->target;
    part.origins["host"] = {machine.tag.empty() ? TargetOrigin::Kind::text : TargetOrigin::Kind::tag, machine.tag};
    if (!device.target->tag.empty()) {
        auto overrides = part.overrides.empty() ? nlohmann::json::object() : nlohmann::json::parse(part.overrides);
        overrides["host"] = target_json(*host->target, TargetFacts::stated, true);
        part.overrides = overrides.dump();
    }
    return part;
}

// The same, as it stood in the machine.
Target without_host(Target part, const Target& machine, const SystemDevice& device) {
    if (part.tag == machine.tag + ":" + device.name) part.tag.clear();
    if (device.host.empty()) return part;
    part.host = nullptr;
    part.origins.erase("host");
    if (part.overrides.empty()) return part;
    auto overrides = nlohmann::json::parse(part.overrides);
    overrides.erase("host");
    part.overrides = overrides.empty() ? "" : overrides.dump();
    return part;
}

std::unexpected<Diagnostics> unfit(std::string summary) {
    return fail({.code = "target.system", .summary = std::move(summary)});
}

using Parts = std::map<std::string, const Target*>;

Result<Target> device_of(const Target& frame, const Parts& parts) {
    const auto device = parts.find("device"), host = parts.find("host");
    if (device == parts.end() || host == parts.end())
        return unfit("a device with its host has the parts 'device' and 'host'");
    Target target = *device->second;
    target.host = std::make_shared<const Target>(*host->second);
    target.tag = frame.tag;
    target.overrides = frame.overrides;
    target.origins["host"] =
        frame.origins.contains("host") ? frame.origins.at("host") : TargetOrigin{TargetOrigin::Kind::program, {}};
    return target;
}

Result<Target> machine_of(const Target& frame, const Parts& parts) {
    Target target = frame;
    for (SystemDevice& device : target.devices) {
        const auto part = parts.find(device.name);
        if (part == parts.end()) return unfit(fmt::format("the part '{}' is missing", device.name));
        const auto host = parts.find(device.host);
        if (part->second->host && host != parts.end() && !is_same(*part->second->host, *host->second)) {
            return fail(
                {.code = "target.host_conflict",
                 .summary = fmt::format("'{}' has the host '{}', and in the machine '{}', which is '{}'", device.name,
                                        short_text(*part->second->host), device.host, short_text(*host->second))});
        }
        device.target = std::make_shared<const Target>(without_host(*part->second, frame, device));
    }
    return target;
}

Result<Target> cluster_of(const Target& frame, const Parts& parts) {
    Target target = frame;
    for (ClusterMachine& machine : target.machines) {
        const auto part = parts.find(machine.name);
        if (part == parts.end()) return unfit(fmt::format("the part '{}' is missing", machine.name));
        machine.target = std::make_shared<const Target>(*part->second);
    }
    return target;
}

// An end of a link of a cluster: of which entry, and which device of it.
struct ClusterEnd {
    const ClusterMachine* entry = nullptr;
    std::string device;  // with its slash; empty: the machine
    int64_t machines(int64_t most) const { return std::min<int64_t>(entry->count, most); }
};

ClusterEnd end_of(const std::vector<ClusterMachine>& entries, const std::string& text) {
    const size_t slash = std::min(text.find('/'), text.size());
    const auto entry = std::ranges::find(entries, text.substr(0, slash), &ClusterMachine::name);
    return {entry == entries.end() ? nullptr : &*entry, text.substr(slash)};
}

// A link of entries as links of their machines.
void add_each(std::vector<SystemLink>& links, const SystemLink& link, const std::vector<ClusterMachine>& entries,
              int64_t most) {
    const ClusterEnd from = end_of(entries, link.from), to = end_of(entries, link.to);
    if (!from.entry || !to.entry) return links.push_back(link);
    const bool within = from.entry == to.entry && from.entry->count > 1;
    // Each pair once, where both directions are the same link.
    const bool same = within && from.device == to.device && link.both_ways;
    for (int i = 0; i < from.machines(most); i++) {
        for (int j = same ? i + 1 : 0; j < to.machines(most); j++) {
            if (within && i == j) continue;
            SystemLink each = link;
            each.from = from.entry->machine_name(i) + from.device;
            each.to = to.entry->machine_name(j) + to.device;
            links.push_back(std::move(each));
        }
    }
}

}  // namespace

Decomposition decompose(const Target& target) {
    Decomposition all{.frame = target};
    switch (target.level()) {
    case TargetLevel::device: break;
    case TargetLevel::device_with_host: {
        Target device = target;
        device.host = nullptr;
        device.origins.erase("host");
        device.tag.clear();
        device.overrides.clear();
        all.parts = {{"device", std::move(device)}, {"host", *target.host}};
        all.frame.host = nullptr;
        break;
    }
    case TargetLevel::machine:
        for (SystemDevice& device : all.frame.devices) {
            if (device.target)
                all.parts.push_back({device.name, device_with_host(target, *find_device(target, device.name))});
            device.target = nullptr;
        }
        break;
    case TargetLevel::cluster:
        for (ClusterMachine& machine : all.frame.machines) {
            if (machine.target) all.parts.push_back({machine.name, *machine.target});
            machine.target = nullptr;
        }
        break;
    }
    return all;
}

Result<Target> recompose(const Decomposition& parts) {
    if (parts.parts.empty() && parts.frame.level() == TargetLevel::device) return parts.frame;
    Parts by_name;
    for (const TargetPart& part : parts.parts) {
        if (!by_name.emplace(part.name, &part.target).second)
            return unfit(fmt::format("there are two parts '{}'", part.name));
    }
    const Target& frame = parts.frame;
    auto target = !frame.machines.empty()  ? cluster_of(frame, by_name)
                  : !frame.devices.empty() ? machine_of(frame, by_name)
                                           : device_of(frame, by_name);
    if (!target) return target;
    for (const auto& [name, part] : by_name) {
        const bool device = target->level() == TargetLevel::device_with_host;
        const bool known = device || find_device(*target, name) ||
                           std::ranges::find(target->machines, name, &ClusterMachine::name) != target->machines.end();
        if (!known) return unfit(fmt::format("there is no place for the part '{}'", name));
    }
    Diagnostics problems = check_system(*target, "$");
    if (!problems.empty()) return fail(std::move(problems));
    return target;
}

Target each_machine(Target cluster, int64_t most) {
    const auto is_several = [](const ClusterMachine& machine) { return machine.count > 1; };
    if (std::ranges::none_of(cluster.machines, is_several)) return cluster;
    const std::vector<ClusterMachine> entries = std::move(cluster.machines);
    const std::vector<SystemLink> links = std::move(cluster.links);
    cluster.machines.clear();
    cluster.links.clear();
    cluster.tag.clear();
    cluster.overrides.clear();
    for (const ClusterMachine& entry : entries) {
        for (int number = 0; number < std::min<int64_t>(entry.count, most); number++)
            cluster.machines.push_back({entry.machine_name(number), entry.target});
    }
    for (const SystemLink& link : links) add_each(cluster.links, link, entries, most);
    return cluster;
}

}  // namespace heddle
