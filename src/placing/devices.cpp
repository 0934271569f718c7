#include "placing/devices.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "target/decompose.h"
#include "target/facts.h"

namespace heddle::placing {

std::vector<Location> System::locations() const {
    std::vector<Location> list;
    for (size_t d = 0; d < devices.size(); d++) {
        for (MemoryId memory : devices[d].memories) list.push_back({DeviceId(d), memory});
    }
    return list;
}

std::string System::text(const Location& location) const {
    const Device& device = this->device(location.device);
    if (location.memory == device.memories.front()) return device.name;
    return device.name + ":" + memory(location.memory).scope;
}

namespace {

constexpr double no_way = std::numeric_limits<double>::infinity();

// Seconds over the best link between each two memories, row by row.
std::vector<double> link_seconds(const System& system, int64_t bytes) {
    const size_t memories = system.memories.size();
    std::vector<double> seconds(memories * memories, no_way);
    for (const Link& link : system.links) {
        double& known = seconds[static_cast<size_t>(link.from) * memories + static_cast<size_t>(link.to)];
        known = std::min(known, link.latency + static_cast<double>(bytes) / link.bandwidth);
    }
    return seconds;
}

// Dijkstra over few memories, which all may be linked.
struct Ways {
    std::vector<double> seconds;  // by memory
    std::vector<MemoryId> before;
};
Ways ways_from(MemoryId from, size_t memories, const std::vector<double>& links) {
    Ways ways{std::vector<double>(memories, no_way), std::vector<MemoryId>(memories)};
    std::vector<bool> done(memories, false);
    ways.seconds[from] = 0;
    for (;;) {
        size_t next = memories;
        for (size_t m = 0; m < memories; m++) {
            if (!done[m] && ways.seconds[m] < no_way && (next == memories || ways.seconds[m] < ways.seconds[next]))
                next = m;
        }
        if (next == memories) return ways;
        done[next] = true;
        for (size_t to = 0; to < memories; to++) {
            const double there = ways.seconds[next] + links[next * memories + to];
            if (there >= ways.seconds[to]) continue;
            ways.seconds[to] = there;
            ways.before[to] = MemoryId(next);
        }
    }
}

Route along(const Ways& ways, MemoryId from, MemoryId to) {
    if (ways.seconds[to] == no_way) return {};
    Route route{{to}, ways.seconds[to]};
    while (route.memories.back() != from) route.memories.push_back(ways.before[route.memories.back()]);
    std::ranges::reverse(route.memories);
    return route;
}

}  // namespace

Route System::route(MemoryId from, MemoryId to, int64_t bytes) const {
    return along(ways_from(from, memories.size(), link_seconds(*this, bytes)), from, to);
}

std::vector<Route> System::routes_from(MemoryId from, int64_t bytes) const {
    const Ways ways = ways_from(from, memories.size(), link_seconds(*this, bytes));
    std::vector<Route> routes;
    for (size_t to = 0; to < memories.size(); to++) routes.push_back(along(ways, from, MemoryId(to)));
    return routes;
}

std::vector<double> System::route_seconds(int64_t bytes) const {
    const auto links = link_seconds(*this, bytes);
    std::vector<double> seconds;
    for (size_t from = 0; from < memories.size(); from++) {
        const Ways ways = ways_from(MemoryId(from), memories.size(), links);
        seconds.insert(seconds.end(), ways.seconds.begin(), ways.seconds.end());
    }
    return seconds;
}

bool runs_host_code(const Target& target) {
    const KindFacts* kind = find_kind(target.kind);
    return kind && kind->launches;
}

namespace {

class Builder {
public:
    explicit Builder(const SystemLimits& limits) : limits_(limits) {}

    Result<System> build(const Target& target) {
        system_.name = target.name;
        if (!fits(target)) return fail(std::move(problems_));
        switch (target.level()) {
        case TargetLevel::device: add_device({.name = target.kind}, target, ""); break;
        case TargetLevel::device_with_host: add_with_host(target, ""); break;
        case TargetLevel::machine: add_machine(target, ""); break;
        case TargetLevel::cluster: add_cluster(each_machine(target)); break;
        }
        finish();
        if (!problems_.empty()) return fail(std::move(problems_));
        return std::move(system_);
    }

private:
    void too_many(const std::string& what, size_t most, size_t found) {
        problems_.push_back({.code = "placing.locations",
                             .summary = fmt::format("a system has too many {} to choose among", what),
                             .expected = fmt::format("at most {}", most),
                             .found = std::to_string(found),
                             .remedy = "describe a part of it, as a cluster of fewer machines"});
    }

    // Entries of a cluster may stand for very many machines.
    bool fits(const Target& target) {
        std::map<std::string, size_t, std::less<>> count;
        size_t machines = 0, links = 0;
        for (const ClusterMachine& machine : target.machines)
            machines += count[machine.name] = static_cast<size_t>(std::max(machine.count, 0));
        for (const SystemLink& link : target.links) {
            const auto of = [&](const std::string& end) {
                const auto found = count.find(end.substr(0, end.find('/')));
                return found == count.end() ? 1 : found->second;
            };
            links += of(link.from) * of(link.to);
        }
        if (machines > limits_.locations) too_many("machines", limits_.locations, machines);
        // Of an entry's link to itself a direction a link is counted here.
        if (links > limits_.links) too_many("links", limits_.links, links);
        return problems_.empty();
    }

    void problem(const std::string& summary, const std::string& found) {
        problems_.push_back({.code = "placing.system",
                             .summary = summary,
                             .found = found,
                             .remedy = "correct the target's devices and links (docs/systems.md)"});
    }

    std::optional<DeviceId> find(const std::string& name) const {
        const auto found = std::ranges::find(system_.devices, name, &Device::name);
        if (found == system_.devices.end()) return std::nullopt;
        return DeviceId(found - system_.devices.begin());
    }

    MemoryId add_memory(const Device& device, const MemoryScope& scope) {
        for (size_t m = 0; m < system_.memories.size(); m++) {
            Memory& known = system_.memories[m];
            if (known.machine != machine_ || known.kind != device.target->kind || known.id != device.id ||
                known.scope != scope.name)
                continue;
            if (known.bytes == 0) known.bytes = scope.bytes;
            return MemoryId(m);
        }
        system_.memories.push_back({machine_, device.name, device.target->kind, device.id, scope.name, scope.bytes});
        return last_id<MemoryId>(system_.memories);
    }

    void add_link(MemoryId from, MemoryId to, double bandwidth, double latency, bool both_ways) {
        system_.links.push_back({from, to, bandwidth, latency});
        if (both_ways) system_.links.push_back({to, from, bandwidth, latency});
    }

    std::optional<DeviceId> add_device(const SystemDevice& entry, const Target& target, const std::string& prefix) {
        Device device{.name = prefix + entry.name, .target = std::make_shared<const Target>(target), .id = entry.id};
        if (find(device.name)) {
            problem("two devices have one name", device.name);
            return std::nullopt;
        }
        const auto host = entry.host.empty() ? std::nullopt : find(prefix + entry.host);
        if (target.kind == "library" && entry.scopes.empty() && host) {
            // A library that the host calls works in the host's memory.
            device.memories = system_.devices[*host].memories;
            system_.devices.push_back(std::move(device));
            return last_id<DeviceId>(system_.devices);
        }
        std::vector<MemoryScope> scopes = entry.scopes;
        if (scopes.empty()) scopes.push_back({"global", target.memory_bytes, target.bandwidth});
        std::ranges::sort(scopes, {},
                          [](const MemoryScope& scope) { return std::pair(scope.name != "global", scope.name); });
        for (const MemoryScope& scope : scopes) {
            const MemoryId memory = add_memory(device, scope);
            // Scopes of a device are filled from the first one; a link between them, which says more, is shorter or not.
            if (!device.memories.empty()) {
                const double speed = scope.bandwidth > 0 ? scope.bandwidth : target.bandwidth;
                add_link(device.memories.front(), memory, speed, target.launch_seconds, true);
            }
            device.memories.push_back(memory);
        }
        system_.devices.push_back(std::move(device));
        return last_id<DeviceId>(system_.devices);
    }

    // A device that is not of a machine: its host is beside it, in the slot's other end.
    void add_with_host(const Target& target, const std::string& prefix) {
        const bool same_kind = target.kind == target.host->kind;
        const auto host = add_device({.name = "host", .id = same_kind ? 1 : 0}, *target.host, prefix);
        const auto device = add_device({.name = target.kind}, target, prefix);
        if (!host || !device) return;
        system_.devices[*device].host = *host;
        add_link(system_.devices[*host].memories.front(), system_.devices[*device].memories.front(),
                 assumed_link_bandwidth, assumed_link_latency, true);
    }

    // "DEVICE" or "DEVICE:SCOPE".
    std::optional<MemoryId> end_of(const std::string& text) {
        const size_t colon = text.find(':');
        const auto device = find(text.substr(0, colon));
        if (!device) {
            problem("an end of a link is no device", text);
            return std::nullopt;
        }
        const auto& memories = system_.devices[*device].memories;
        if (colon == std::string::npos) return memories.front();
        const auto found = std::ranges::find(memories, text.substr(colon + 1),
                                             [&](MemoryId memory) { return system_.memories[memory].scope; });
        if (found != memories.end()) return *found;
        problem("an end of a link is no scope of its device", text);
        return std::nullopt;
    }

    void add_links(const std::vector<SystemLink>& links, const std::function<std::string(const std::string&)>& end) {
        for (const SystemLink& link : links) {
            const auto from = end_of(end(link.from)), to = end_of(end(link.to));
            if (!from || !to) continue;
            if (!(link.bandwidth > 0) || link.latency < 0) {
                problem("a link has no bandwidth, or a latency below zero", link.from + " - " + link.to);
                continue;
            }
            add_link(*from, *to, link.bandwidth, link.latency, link.both_ways);
        }
    }

    void add_machine(const Target& machine, const std::string& prefix) {
        // In the order of their names, for that of the text says nothing. Libraries last: they may work in the memory of
        // a device that stands behind them.
        std::vector<SystemDevice> entries = machine.devices;
        std::erase_if(entries, [](const SystemDevice& entry) { return !entry.target; });
        std::ranges::sort(entries, {}, [](const SystemDevice& entry) {
            return std::pair(entry.target->kind == "library", entry.name);
        });
        for (const SystemDevice& entry : entries) add_device(entry, *entry.target, prefix);
        for (const SystemDevice& entry : entries) {
            const auto device = find(prefix + entry.name);
            if (!device || entry.host.empty()) continue;
            const auto host = find(prefix + entry.host);
            if (!host || *host == *device) problem("a host is no other device of its machine", entry.host);
            if (host) system_.devices[*device].host = *host;
        }
        add_links(machine.links, [&](const std::string& end) { return prefix + end; });
    }

    void add_cluster(const Target& cluster) {
        std::map<std::string, std::string> first;  // of each machine: its host, which a link to the machine ends at
        std::vector<ClusterMachine> machines = cluster.machines;
        std::ranges::sort(machines, {}, &ClusterMachine::name);
        for (const ClusterMachine& machine : machines) {
            if (!machine.target) continue;
            const size_t begin = system_.devices.size();
            machine_ = machine.name;
            add_of_any_level(*machine.target, machine.name + "/");
            for (size_t d = begin; d < system_.devices.size(); d++) {
                const bool host = runs_host_code(*system_.devices[d].target);
                if (host) first.emplace(machine.name, system_.devices[d].name);
            }
            // What nobody hosts is linked itself.
            if (begin < system_.devices.size()) first.emplace(machine.name, system_.devices[begin].name);
        }
        add_links(cluster.links, [&](const std::string& end) {
            const auto found = first.find(end);
            return found == first.end() ? end : found->second;
        });
    }

    void add_of_any_level(const Target& target, const std::string& prefix) {
        if (target.level() == TargetLevel::device) add_device({.name = target.kind}, target, prefix);
        if (target.level() == TargetLevel::device_with_host) add_with_host(target, prefix);
        if (target.level() == TargetLevel::machine) add_machine(target, prefix);
    }

    void finish() {
        if (const size_t found = system_.locations().size(); found > limits_.locations)
            too_many("devices and scopes", limits_.locations, found);
        if (system_.links.size() > limits_.links) too_many("links", limits_.links, system_.links.size());
        find_host();
    }

    // Of what can launch others: what does so, else a processor that runs machine code, else the first by name.
    void find_host() {
        const auto hosts_another = [&](size_t d) {
            return std::ranges::find(system_.devices, DeviceId(d), &Device::host) != system_.devices.end();
        };
        int best = -1;
        for (size_t d = 0; d < system_.devices.size(); d++) {
            const Target& target = *system_.devices[d].target;
            if (!runs_host_code(target)) continue;
            const int rank = 2 * hosts_another(d) + (target.kind == "cpu");
            if (rank <= best) continue;
            best = rank;
            system_.host = DeviceId(d);
        }
    }

    const SystemLimits limits_;
    System system_;
    Diagnostics problems_;
    std::string machine_;  // of a cluster, whose devices are being added
};

}  // namespace

Result<System> system_of(const Target& target, const SystemLimits& limits) { return Builder(limits).build(target); }

}  // namespace heddle::placing
