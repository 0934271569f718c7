#include "placing/parts.h"

#include <fmt/format.h>

#include "target/processes.h"

namespace heddle::placing {

System system_of_processes(const Places& places, size_t count) {
    System system{.name = fmt::format("{} processes", count)};
    for (size_t p = 0; p < count; p++) {
        const Place place = places.at(p);
        const auto process = static_cast<int32_t>(p);
        system.devices.push_back(
            {.name = place.name, .target = place.target, .memories = {MemoryId(p)}, .process = process});
        system.memories.push_back({.machine = place.name,
                                   .device = place.name,
                                   .kind = place.target->kind,
                                   .scope = "global",
                                   .bytes = place.memory_bytes,
                                   .process = process});
        for (size_t q = 0; q < count; q++) {
            if (q == p) continue;
            const PlaceLink link = places.link(p, q);
            system.links.push_back({MemoryId(p), MemoryId(q), link.bandwidth, link.latency});
        }
    }
    system.host = DeviceId(0);
    return system;
}

Result<System> system_of_processes(const Target& cpu, int32_t processes) {
    const auto cluster = as_processes(cpu, processes);
    if (!cluster) return fail(cluster.error());
    const auto places = places_of(*cluster);
    if (!places) return fail(places.error());
    return system_of_processes(*places, places->size());
}

Result<System> system_on_paper(int32_t processes) {
    const auto cluster = as_processes(Target{}, processes);
    if (!cluster) return fail(cluster.error());
    System system{.name = cluster->name};
    for (int32_t p = 0; p < processes; p++) {
        system.devices.push_back({.name = std::to_string(p),
                                  .target = cluster->machines.front().target,
                                  .memories = {MemoryId(p)},
                                  .process = p});
        system.memories.push_back({.machine = "", .device = std::to_string(p), .kind = "cpu", .scope = "global"});
    }
    for (const auto& link : cluster->links)
        system.links.push_back({MemoryId(0), MemoryId(1), link.bandwidth, link.latency});
    system.host = DeviceId(0);
    return system;
}

Placement placement_of(const sharding::PlacedGraph& parts, const System& system,
                       const std::vector<sharding::PlaceId>& readers) {
    const Graph& graph = parts.graph;
    const auto location = [&](sharding::PlaceId place) { return system.default_location(DeviceId(place.number())); };
    Placement placement;
    placement.caller = location(sharding::PlaceId(0)).memory;
    placement.results.resize(system.devices.size());
    for (size_t p = 1; p < system.devices.size(); p++)
        placement.others.push_back(location(sharding::PlaceId(p)).memory);
    for (size_t r = 0; r < readers.size(); r++) placement.results[readers[r]] = parts.outputs[r];
    for (const auto& [place, tensor] : parts.kept) placement.results[place].push_back(tensor);
    placement.tensors.assign(graph.tensors.size(), placement.caller);
    for (const auto& [place, tensor] : parts.given) {
        placement.tensors[tensor] = location(place).memory;
        placement.given.push_back(tensor);
    }
    for (size_t o = 0; o < graph.operations.size(); o++) {
        placement.operations.push_back(location(parts.places[o]));
        for (TensorId t : graph.operations[o].outputs) placement.tensors[t] = placement.operations.back().memory;
    }
    placement.turns = parts.turns;
    placement.slices.assign(graph.operations.size(), false);
    for (const auto& [tensor, slice] : parts.slices) placement.slices[graph.tensor(tensor).producer] = true;
    for (const sharding::Brought& brought : parts.brought) {
        const MemoryId memory = location(brought.to).memory;
        const int64_t bytes = graph.tensor(brought.own).type.byte_size();
        placement.copies.push_back({brought.own, memory, system.route(placement.tensors[brought.own], memory, bytes)});
    }
    return placement;
}

}  // namespace heddle::placing
