// A graph cut over several processes, as their functions (docs/machines.md).
#pragma once

#include "placing/choose_cuts.h"
#include "placing/collectives.h"
#include "placing/processes.h"

namespace heddle::placing {

struct ShardedProgram {
    std::shared_ptr<const System> system;
    Cutting cutting;
    std::vector<Module> processes;  // split, one a place
    std::vector<Message> messages;
    std::vector<Collective> collectives;  // the same bytes, as what they are together
};

// Each of `readers` gets all outputs; every process takes all inputs: but those that are parts, of which a process takes and
// gives its own behind the others, by the cutting's spreads. Checked by verify and verify_messages, and that the
// messages' bytes are the model's. Codes: those of choose_cuts and sharding::place.
Result<ShardedProgram> sharded(const Graph& graph, const SaidCuts& said, System system,
                               const std::vector<sharding::PlaceId>& readers, const SaidParts& parts = {});

}  // namespace heddle::placing
