// What is said of a whole graph.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace heddle::explain {

// For people, of explain_graph's facts (explanation.h).
std::string graph_text(const nlohmann::ordered_json& json);

}  // namespace heddle::explain
