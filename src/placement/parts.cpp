#include "placement/parts.h"

#include <set>

#include <fmt/format.h>

namespace heddle::placement {

System system_of_processes(const Target& device, int32_t processes, double bandwidth, double latency) {
    System system{.name = fmt::format("{} processes", processes)};
    const auto target = std::make_shared<const Target>(device);
    for (int32_t p = 0; p < processes; p++) {
        const std::string name = fmt::format("place{}", p);
        system.devices.push_back({.name = name, .target = target, .memories = {MemoryId(p)}, .process = p});
        system.memories.push_back({.machine = name,
                                   .device = name,
                                   .kind = device.kind,
                                   .scope = "global",
                                   .bytes = device.memory_bytes,
                                   .process = p});
        for (int32_t q = 0; q < processes; q++)
            if (q != p) system.links.push_back({MemoryId(p), MemoryId(q), bandwidth, latency});
    }
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
    placement.tensors.assign(graph.tensors.size(), placement.caller);
    for (size_t o = 0; o < graph.operations.size(); o++) {
        placement.operations.push_back(location(parts.places[o]));
        for (TensorId t : graph.operations[o].outputs) placement.tensors[t] = placement.operations.back().memory;
    }
    placement.slices.assign(graph.operations.size(), false);
    for (const auto& [tensor, slice] : parts.slices) placement.slices[graph.tensor(tensor).producer] = true;
    std::set<std::pair<TensorId, MemoryId>> copied;
    const auto read = [&](TensorId t, MemoryId memory) {
        const bool made = graph.tensor(t).producer != no_id;
        if (!made || placement.tensors[t] == memory || !copied.emplace(t, memory).second) return;
        placement.copies.push_back({t, memory, system.route(placement.tensors[t], memory, graph.tensor(t).type.byte_size())});
    };
    for (size_t o = 0; o < graph.operations.size(); o++)
        for (TensorId t : graph.operations[o].inputs) read(t, placement.operations[o].memory);
    for (size_t r = 0; r < readers.size(); r++)
        for (TensorId t : parts.outputs[r]) read(t, location(readers[r]).memory);
    return placement;
}

}  // namespace heddle::placement
