// The order in which a graph's nodes are computed. Files may hold them in any other.
#pragma once

#include <set>
#include <string_view>

#include "frontends/onnx/model.h"

namespace heddle::onnx {

// What must be there before a node is computed: its inputs, and what graphs within it read of the graphs around them.
// They are the node's own texts.
std::set<std::string_view> reads_of(const OnnxNode& node);
// What a graph within a node reads of the graphs around it.
std::set<std::string_view> captures_of(const OnnxGraph& graph);
// Whether a graph within the node reads the value.
bool captures(const OnnxNode& node, std::string_view value);

// Puts the nodes of a model's graphs, and of those within its nodes and functions, behind the nodes whose values they
// read; else they stay as they were. Code onnx.cycle: some need one another; the summary names them.
Result<void> order_nodes(OnnxModel& model);

}  // namespace heddle::onnx
