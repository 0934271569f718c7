// What the text of a body calls its variables and values: what its author called them, with a number behind where two
// of one name could be taken for each other.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/body.h"

namespace heddle {

// The name that the author gave a node by `let`; null if none.
const std::string* name_of(const Body& body, NodeId node);

// Of values that have a line of their own; `taken` are names of tensors.
std::map<NodeId, std::string> value_names(const Body& body, const std::vector<std::string>& taken);

// Of local arrays and states.
std::vector<std::string> local_names(const Body& body);

// By variable. Two that no line shows within one another may have the same name; `lines` are the nodes that have a line.
std::vector<std::string> variable_names(const Body& body, const std::map<NodeId, std::string>& lines);

}  // namespace heddle
