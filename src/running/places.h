// Places as engines take them: every graph is cut over them and run together (inference/places.h).
#pragma once

#include "running/together.h"
#include "inference/places.h"
#include "placing/sharded.h"
#include "placing/choose_cuts.h"

namespace heddle::running {

struct PlacesOptions {
    // The mesh has as many places as the transport has processes.
    placing::SaidCuts said;
    // To the other processes; null: all places are threads of this one.
    std::shared_ptr<transport::Transport> transport;
    int threads = 0;  // of all places of this process; 0: all cores
    std::shared_ptr<cache::Folder> folder;
    Target target;  // of the machine, as far as costs go: its places share it
};

std::shared_ptr<inference::Places> make_places(PlacesOptions options);

// The program of one graph for all of them, as make_places' compile has it. `readers` get all outputs. Codes: those of
// placing::sharded.
Result<placing::ShardedProgram> program_for(const Graph& graph, const PlacesOptions& options,
                                            const std::vector<sharding::PlaceId>& readers);

}  // namespace heddle::running
