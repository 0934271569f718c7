// Nodes that run a graph again and again: `Loop`, and `Scan`, which is a loop over parts of tensors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontends/onnx/model.h"

namespace heddle::onnx {

// Null: the node has none of the name.
const OnnxAttribute* attribute_of(const OnnxNode& node, const std::string& name);
const OnnxGraph* graph_of(const OnnxNode& node, const std::string& attribute);
int64_t integer_of(const OnnxNode& node, const std::string& attribute, int64_t otherwise);

// Along which dimension parts are taken or stacked (below 0: from the last one), and whether from the end.
struct ScanWay {
    int64_t axis = 0;
    bool reversed = false;

    // Of tensors of this rank.
    int64_t axis_in(int64_t rank) const { return axis < 0 ? axis + rank : axis; }
};

// inputs: a trip count and a condition where it counts, what is carried at first, what is scanned.
// body's inputs: the iteration's number and the condition where it counts, what is carried, a part of what is scanned.
// body's outputs: the condition where it counts, what is carried, what is stacked. outputs: what is carried, stacked.
struct LoopForm {
    const OnnxGraph* body = nullptr;
    bool counts = false;
    size_t carried = 0;
    std::vector<ScanWay> scanned, stacked;

    size_t own_inputs() const { return counts ? 2 : 0; }
    size_t own_outputs() const { return counts ? 1 : 0; }
};
// Nothing: it has no body, or one that does not fit it.
std::optional<LoopForm> loop_form(const OnnxNode& node);

// Before opset 9 a `Scan` has lengths, which must be absent, before its inputs, and the first dimension of all others
// is one of examples: this is a scan of these, whose body scans an example. Nothing: the node is another one.
std::optional<OnnxNode> scan_of_examples(const OnnxNode& node);

}  // namespace heddle::onnx
