// What `heddle explain` and `heddle run` say of where a graph's parts are placed, and as which functions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "graph/graph.h"
#include "placing/module.h"
#include "placing/placement.h"

namespace heddle::explain {

// A graph on a system, as it would be loaded.
struct PlacedGraph {
    std::shared_ptr<const placing::System> system;
    placing::Placement placement;
    placing::Module module;  // split
};

// `annotations`: "y=gpu0", "h=gpu1:texture" (placing/wish.h). All is checked. Codes: those of system_of,
// parse_annotations, place, split.
Result<PlacedGraph> placed(const Graph& graph, const Target& system, const std::vector<std::string>& annotations);

// {operations, copies, compute_seconds, copy_seconds, memory, functions}
nlohmann::ordered_json placement_json(const Graph& graph, const PlacedGraph& placed);
std::string placement_text(const Graph& graph, const PlacedGraph& placed);

}  // namespace heddle::explain
