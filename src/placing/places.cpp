#include "placing/places.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "target/decompose.h"
#include "target/facts.h"
#include "target/hosts.h"

namespace heddle::placing {
namespace {

// Of an entry: where a message begins, where it ends, and one that it may go over.
constexpr int64_t standing_machines = 3;
// Of those machines: ways from each to each are looked for.
constexpr SystemLimits place_limits{.locations = 1024, .links = 1 << 18};

}  // namespace

// The fastest link between each two memories, for messages of the usual size.
class FastestLinks {
public:
    explicit FastestLinks(const System& system) : system_(system) {
        for (size_t l = 0; l < system.links.size(); l++) {
            const auto [known, added] = links_.emplace(std::pair(system.links[l].from, system.links[l].to), l);
            if (!added && seconds(system.links[l]) < seconds(system.links[known->second])) known->second = l;
        }
    }

    PlaceLink over(const Route& route) const {
        PlaceLink all{std::numeric_limits<double>::infinity(), 0, true};
        for (size_t m = 1; m < route.memories.size(); m++) {
            const Link& link = system_.links[links_.at({route.memories[m - 1], route.memories[m]})];
            all.bandwidth = std::min(all.bandwidth, link.bandwidth);
            all.latency += link.latency;
        }
        return all;
    }

private:
    static double seconds(const Link& link) {
        return link.latency + static_cast<double>(usual_message_bytes) / link.bandwidth;
    }
    const System& system_;
    std::map<std::pair<MemoryId, MemoryId>, size_t> links_;
};

class PlacesBuilder {
public:
    PlacesBuilder(const Target& target, const std::string& kind) : target_(target), kind_(kind) {}

    Result<Places> build() {
        auto system = system_of(each_machine(target_, standing_machines), place_limits);
        if (!system) return fail(std::move(system.error()));
        places_.system_ = std::move(*system);
        std::vector<ClusterMachine> entries;
        for (const ClusterMachine& machine : target_.machines) {
            if (machine.target) entries.push_back({machine.name, nullptr, machine.count});
        }
        std::ranges::sort(entries, {}, &ClusterMachine::name);
        if (target_.machines.empty()) entries.push_back({});
        for (const ClusterMachine& entry : entries) add_entry(entry);
        if (places_.groups_.empty()) return fail(no_place());
        find_links();
        return std::move(places_);
    }

private:
    Diagnostic no_place() const {
        std::set<std::string> kinds;
        for (const Device& device : places_.system_.devices) kinds.insert(device.target->kind);
        std::string list;
        for (const std::string& kind : kinds) list += (list.empty() ? "" : ", ") + kind;
        return {.code = "placing.places",
                .summary = kind_.empty() ? fmt::format("'{}' has no device that is a place", short_text(target_))
                                         : fmt::format("'{}' has no device of kind '{}'", short_text(target_), kind_),
                .expected = kind_.empty() ? "a device that runs kernels in a memory of its own" : list,
                .params = {{"kind", kind_}}};
    }

    bool hosts_others(DeviceId id) const {
        return std::ranges::any_of(places_.system_.devices, [&](const Device& device) {
            return device.host == id && device.target->kind != "library";
        });
    }

    // Of a machine, by its devices' common beginning.
    std::vector<DeviceId> devices_of(const std::string& machine) const {
        const auto& devices = places_.system_.devices;
        const std::string prefix = machine.empty() ? "" : machine + "/";
        std::vector<DeviceId> found;
        for (size_t d = 0; d < devices.size(); d++) {
            const std::string& kind = devices[d].target->kind;
            const bool wanted = kind_.empty() ? kind != "library" && !hosts_others(DeviceId(d)) : kind == kind_;
            if (wanted && devices[d].name.starts_with(prefix)) found.push_back(DeviceId(d));
        }
        std::ranges::sort(found, {}, [&](DeviceId id) {
            return std::tuple(devices[id].target->kind, devices[id].id, devices[id].name);
        });
        // Another target of the same device.
        std::set<MemoryId> seen;
        std::erase_if(found, [&](DeviceId id) { return !seen.insert(devices[id].memories.front()).second; });
        return found;
    }

    std::shared_ptr<const Target> with_its_host(const Device& device) const {
        if (device.host == no_id || device.target->host) return device.target;
        auto hosted = with_host(*device.target, *places_.system_.device(device.host).target);
        return hosted ? std::make_shared<const Target>(std::move(*hosted)) : device.target;
    }

    void add_entry(const ClusterMachine& machine) {
        const auto first = devices_of(machine.name.empty() ? "" : machine.machine_name(0));
        places_.entries_.push_back({machine, places_.size_, places_.groups_.size(), first.size()});
        places_.size_ += first.size() * static_cast<size_t>(machine.count);
        const size_t prefix = machine.name.empty() ? 0 : machine.machine_name(0).size() + 1;
        const System& system = places_.system_;
        for (const DeviceId id : first) {
            const Device& device = system.device(id);
            places_.groups_.push_back({.entry = machine.name,
                                       .device = device.name.substr(prefix),
                                       .target = with_its_host(device),
                                       .memory_bytes = system.memory(device.memories.front()).bytes,
                                       .machines = machine.count});
            places_.group_entries_.push_back(places_.entries_.size() - 1);
            places_.memories_.push_back({device.memories.front()});
        }
        for (int number = 1; number < std::min<int64_t>(machine.count, standing_machines); number++) {
            const auto more = devices_of(machine.machine_name(number));
            for (size_t d = 0; d < more.size(); d++) {
                auto& memories = places_.memories_[places_.entries_.back().first_group + d];
                memories.push_back(system.device(more[d]).memories.front());
            }
        }
    }

    void find_links() {
        const FastestLinks fastest(places_.system_);
        const auto& groups = places_.groups_;
        for (size_t from = 0; from < groups.size(); from++) {
            const auto routes = places_.system_.routes_from(places_.memories_[from][0], usual_message_bytes);
            const auto way = [&](MemoryId to, const PlaceLink& otherwise) -> Places::Way {
                if (!routes[to].exists()) return {otherwise, {}};
                return {fastest.over(routes[to]), routes[to].memories};
            };
            for (size_t to = 0; to < groups.size(); to++) {
                const auto& memories = places_.memories_[to];
                const bool same = groups[from].entry == groups[to].entry;
                const size_t other = same && memories.size() > 1 ? 1 : 0;
                places_.within_.push_back(way(memories[0], {assumed_link_bandwidth, assumed_link_latency, false}));
                places_.across_.push_back(
                    way(memories[other], {assumed_network_bandwidth, assumed_network_latency, false}));
            }
        }
    }

    const Target& target_;
    const std::string& kind_;
    Places places_;
};

Places::Seat Places::seat(size_t place) const {
    const auto after = std::ranges::upper_bound(entries_, place, {}, &Entry::first_place);
    // Entries without places begin where the next one does, which comes behind them.
    const auto entry = static_cast<size_t>(after - entries_.begin()) - 1;
    const size_t inside = place - entries_[entry].first_place, groups = entries_[entry].groups;
    return {entry, entries_[entry].first_group + inside % groups, static_cast<int>(inside / groups)};
}

size_t Places::place_of(size_t entry, size_t group, int machine) const {
    const Entry& found = entries_[entry];
    return found.first_place + static_cast<size_t>(machine) * found.groups + (group - found.first_group);
}

Place Places::at(size_t place) const {
    const Seat seat = this->seat(place);
    const PlaceGroup& group = groups_[seat.group];
    const std::string machine = group.entry.empty() ? "" : entries_[seat.entry].machine.machine_name(seat.machine);
    return {.name = machine.empty() ? group.device : machine + "/" + group.device,
            .machine = machine,
            .device = group.device,
            .target = group.target,
            .memory_bytes = group.memory_bytes};
}

const Places::Way& Places::between(size_t from, size_t to, bool beside) const {
    return (beside ? within_ : across_)[from * groups_.size() + to];
}

PlaceLink Places::link(size_t from, size_t to) const {
    if (from == to) return {std::numeric_limits<double>::infinity(), 0, true};
    const Seat begin = seat(from), end = seat(to);
    return between(begin.group, end.group, begin.is_beside(end)).link;
}

std::vector<std::string> Places::way(size_t from, size_t to) const {
    const Seat begin = seat(from), end = seat(to);
    std::vector<std::string> names;
    if (from == to) return {at(from).name};
    for (const MemoryId memory : between(begin.group, end.group, begin.is_beside(end)).memories)
        names.push_back(system_.memory(memory).text());
    return names;
}

std::vector<Places::LinkClass> Places::link_classes() const {
    std::map<std::tuple<double, double, bool>, LinkClass> classes;
    const auto add = [&](size_t from, size_t to, int64_t pairs, const PlaceLink& link) {
        const auto [known, added] =
            classes.try_emplace({link.bandwidth, link.latency, link.is_said}, LinkClass{from, to, 0, link});
        LinkClass& found = known->second;
        found.pairs += pairs;
        if (std::pair(from, to) < std::pair(found.from, found.to)) found.from = from, found.to = to;
    };
    for (size_t g = 0; g < groups_.size(); g++) {
        for (size_t h = 0; h < groups_.size(); h++) {
            const size_t e = group_entries_[g], f = group_entries_[h];
            const bool same = e == f;
            const int64_t mine = groups_[g].machines, others = groups_[h].machines;
            const size_t from = place_of(e, g, 0);
            if (same && g != h) add(from, place_of(f, h, 0), mine, between(g, h, true).link);
            const int64_t apart = same ? mine * (mine - 1) : mine * others;
            if (apart > 0) add(from, place_of(f, h, same), apart, between(g, h, false).link);
        }
    }
    std::vector<LinkClass> list;
    for (const auto& [figures, found] : classes) list.push_back(found);
    std::ranges::stable_sort(list, {}, [](const LinkClass& each) { return each.link.seconds(usual_message_bytes); });
    return list;
}

Result<Places> places_of(const Target& target, const std::string& kind) { return PlacesBuilder(target, kind).build(); }

}  // namespace heddle::placing
