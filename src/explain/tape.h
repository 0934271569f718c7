// What `heddle explain --gradient` says of the tape: what an operator keeps for its adjoints, and what it could.
#pragma once

#include <nlohmann/json.hpp>

#include "graph/graph.h"

namespace heddle::explain {

// Of the gradient with respect to `wanted`: "balanced", what is kept if nobody says otherwise; "all" that adjoints ask for beside
// inputs and results; "overwritten",
// the same where inputs and results are gone; "fewest", the fewest bytes that are enough then. Codes of split().
Result<nlohmann::ordered_json> tape_json(const Graph& graph, const std::vector<TensorId>& wanted);

std::string tape_text(const nlohmann::ordered_json& tape);

}  // namespace heddle::explain
