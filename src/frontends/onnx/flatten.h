// A graph's nodes as one list: calls of functions and branches written out, so that any of them may run before others.
#pragma once

#include <vector>

#include "frontends/onnx/model.h"

namespace heddle::onnx {

// Nodes in order, and weights that they read. No name is defined twice.
struct FlatGraph {
    std::vector<OnnxNode> nodes;
    std::vector<OnnxTensor> initializers;
};

// A graph of the model, or one within a node; calls are written out. Its own names stay.
FlatGraph flattened(const OnnxModel& model, const OnnxGraph& graph);
// The nodes of a branch, which the node has, in place of the `If`, whose outputs they define. Other names begin with the
// node's label and the branch.
FlatGraph written_out(const OnnxModel& model, const OnnxNode& node, bool condition);

// A model of these nodes alone, which may call the functions of the whole one. It has no inputs and no weights yet.
OnnxModel model_of(const OnnxModel& whole, std::vector<OnnxNode> nodes);

}  // namespace heddle::onnx
