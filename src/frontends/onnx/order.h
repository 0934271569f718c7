// The order in which a graph's nodes are computed. Files may hold them in any other.
#pragma once

#include "frontends/onnx/model.h"

namespace heddle::onnx {

// Puts the nodes of a model's graphs, and of those within its nodes and functions, behind the nodes whose values they
// read; else they stay as they were. Code onnx.cycle: some need one another; the summary names them.
Result<void> order_nodes(OnnxModel& model);

}  // namespace heddle::onnx
