// A graph's nodes as one list: calls of functions and branches written out, so that any of them may run before others.
#pragma once

#include <functional>
#include <set>
#include <string>
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

// What tells apart nodes that are left to do.
std::string key_of(const std::vector<OnnxNode>& nodes);
// What they read, by whomever it is made.
std::set<std::string> reads_of(const std::vector<OnnxNode>& nodes);

// Of a value by its name; null: it is none.
using FindWeight = std::function<const OnnxTensor*(const std::string& name)>;
// A model of these nodes alone, which may call the functions of the whole one, with the weights that they read. It has
// no inputs yet.
OnnxModel model_of(const OnnxModel& whole, std::vector<OnnxNode> nodes, const FindWeight& weight);
// An input of such a model.
OnnxValue value_of(const std::string& name, DType dtype, std::vector<OnnxDimension> shape);

}  // namespace heddle::onnx
