// Functions of a model: which nodes call them, and that they can be inlined.
#pragma once

#include "frontends/onnx/model.h"

namespace heddle::onnx {

// Sets OnnxNode::function and OnnxFunction::is_called. Nothing is inlined for it: a few functions that call each other
// can stand for more nodes than any memory holds. Codes: onnx.duplicate_function, onnx.recursive_function,
// onnx.function_size.
Result<void> link_functions(OnnxModel& model);

// The graph and those within its nodes. A model's nesting is limited when it is read.
template <typename Graph, typename Visit>
void for_each_graph(Graph& graph, const Visit& visit) {
    visit(graph);
    for (auto& node : graph.nodes) {
        for (auto& attribute : node.attributes) {
            if (attribute.graph) for_each_graph(static_cast<Graph&>(*attribute.graph), visit);
        }
    }
}

}  // namespace heddle::onnx
