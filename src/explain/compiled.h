// What `heddle explain` says of the steps of compiling a graph: equations and fusion, schedules and the plan, C.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "explain/explanation.h"
#include "graph/graph.h"

namespace heddle::explain {

// {equations: {lowered, passes, optimised, kernels, decisions}, placement (placement.h), schedule: {choices, plan,
// kernels}, source}: those that `options` ask for. `notes`: those of the plan. Code explain.pass: there is none of this
// name.
Result<void> add_compiled(const Graph& graph, const Target& target, const ExplanationOptions& options,
                          nlohmann::ordered_json& json, Diagnostics& notes);

// For people; empty where there is none of it.
std::string compiled_text(const nlohmann::ordered_json& json);

}  // namespace heddle::explain
