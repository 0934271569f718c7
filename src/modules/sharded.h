// A graph cut over several processes, as their functions (docs/machines.md).
#pragma once

#include "modules/processes.h"
#include "placement/choose_cuts.h"

namespace heddle::modules {

struct ShardedProgram {
    std::shared_ptr<const placement::System> system;
    placement::Cutting cutting;
    std::vector<Module> processes;  // split, one a place
    std::vector<Message> messages;
};

// Each of `readers` gets all outputs; every process takes all inputs. Checked by verify and verify_messages, and that the
// messages' bytes are the model's. Codes: those of placement::choose_cuts and sharding::place.
Result<ShardedProgram> sharded(const Graph& graph, const placement::SaidCuts& said, placement::System system,
                               const std::vector<sharding::PlaceId>& readers);

}  // namespace heddle::modules
