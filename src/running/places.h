// Graphs cut over places and run together, also as engines take them: every graph (inference/places.h).
#pragma once

#include "inference/places.h"
#include "placing/sharded.h"
#include "running/together.h"

namespace heddle::running {

struct PlacesOptions {
    // A mesh of as many places as the transport has processes; without one they are a row of these.
    placing::SaidCuts said;
    // To the other processes; null: all places are threads of this one.
    std::shared_ptr<transport::Transport> transport;
    int threads = 0;  // of all places of this process; 0: all cores
    std::shared_ptr<runtime::KernelCache> kernels;
    // Of the machine, as far as costs go: its places share it. Of processes the first one's is all others', too: machines
    // that have measured other figures would cut otherwise.
    Target target;
    // By process that runs here, which graphs share; empty: for one graph alone.
    std::vector<Inventory> here = {};
};

// A graph that is cut, compiled, and agreed on by all processes.
struct Started {
    placing::ShardedProgram program;  // without its processes
    std::shared_ptr<Together> together;
};

// `readers` get all outputs, but those that `parts` leaves where they are. Where it fails, the other processes are told. Codes: transport.size (there are more or fewer
// places than processes), those of placing::sharded and of Together.
Result<Started> start(const Graph& graph, const PlacesOptions& options, const std::vector<sharding::PlaceId>& readers,
                      const placing::SaidParts& parts = {});

// Of a graph all processes get all outputs.
std::shared_ptr<inference::Places> make_places(PlacesOptions options);

}  // namespace heddle::running
