// A graph that is cut into parts at places, placed on a system: each place is a device of a process.
#pragma once

#include "placing/placement.h"
#include "placing/places.h"
#include "sharding/shard.h"

namespace heddle::placing {

// A process on each of the first so many places, with a memory of its own, and a link between each two.
System system_of_processes(const Places& places, size_t count);
// So many processes of one machine (target/processes.h). Codes: those of as_processes.
Result<System> system_of_processes(const Target& cpu, int32_t processes);
// The same of a processor that nothing is known of, for programs that are shown and not run: one link stands for all.
Result<System> system_on_paper(int32_t processes);

// Place p is the system's device number p. Each is a caller that gives all inputs; those of `readers` get all outputs, as
// `parts` has them. Copies are those that the operations' reads ask for.
Placement placement_of(const sharding::PlacedGraph& parts, const System& system,
                       const std::vector<sharding::PlaceId>& readers);

}  // namespace heddle::placing
