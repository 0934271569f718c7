// Places as engines take them: every graph is cut over them and run together (inference/places.h).
#pragma once

#include "devices/together.h"
#include "inference/places.h"
#include "modules/sharded.h"
#include "placement/choose_cuts.h"

namespace heddle::devices {

struct PlacesOptions {
    // The mesh has as many places as the transport has processes.
    placement::SaidCuts said;
    // To the other processes; null: all places are threads of this one.
    std::shared_ptr<transport::Transport> transport;
    int threads = 0;  // of all places of this process; 0: all cores
    std::shared_ptr<cache::Folder> folder;
    Target target;  // of the machine, as far as costs go: its places share it
};

std::shared_ptr<inference::Places> make_places(PlacesOptions options);

// The program of one graph for all of them, as make_places' compile has it. `readers` get all outputs. Codes: those of
// modules::sharded.
Result<modules::ShardedProgram> program_for(const Graph& graph, const PlacesOptions& options,
                                            const std::vector<sharding::PlaceId>& readers);

}  // namespace heddle::devices
