// A graph that is cut into parts at places, placed on a system: each place is a device of a process.
#pragma once

#include "placement/placement.h"
#include "sharding/shard.h"

namespace heddle::placement {

// So many processes on devices of one target, each with a memory of its own, and links from each to each.
System system_of_processes(const Target& device, int32_t processes, double bandwidth, double latency);

// Place p is the system's device number p. Each is a caller that gives all inputs; those of `readers` get all outputs, as
// `parts` has them. Copies are those that the operations' reads ask for.
Placement placement_of(const sharding::PlacedGraph& parts, const System& system,
                       const std::vector<sharding::PlaceId>& readers);

}  // namespace heddle::placement
