// What `heddle explain` says of one operation: index, projections, axes of shards, body.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "graph/graph.h"

namespace heddle::explain {

// {name, operator, parameters, class, index, inputs, outputs, axes, body}
nlohmann::ordered_json operation_json(const Graph& graph, const Operation& operation);

// How much of each projection: as rows, or in all three notations and as an augmented matrix.
enum class Notations : uint8_t { rows, all };
std::string operation_text(const nlohmann::ordered_json& operation, Notations notations);
// Its parts: "index [m = 4]", "extended by [k = 6 by sum]"; and the projection of an input or an output.
std::string index_text(const nlohmann::ordered_json& operation);
std::string tensor_text(const nlohmann::ordered_json& tensor, Notations notations);

// Each line that is not empty, so many spaces in.
std::string indented(const std::string& text, int by);
std::string text_of(const nlohmann::ordered_json& json, const char* key);
// "1 launch", "2 launches".
std::string counted(int64_t number, const char* what, const char* plural = "s");

}  // namespace heddle::explain
