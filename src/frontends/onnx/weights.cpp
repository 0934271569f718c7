#include "frontends/onnx/weights.h"

#include <algorithm>

namespace heddle::onnx {
namespace {

using Kind = OnnxAttribute::Kind;

void add_weights(const OnnxGraph& graph, std::vector<OnnxWeight>& result) {
    auto add = [&](const std::string& name, const OnnxTensor& tensor) {
        if (!name.empty() && tensor.data && is_float(tensor.data->dtype())) result.push_back({name, *tensor.data});
    };
    for (const OnnxTensor& tensor : graph.initializers) add(tensor.name, tensor);
    for (const OnnxNode& node : graph.nodes) {
        for (const OnnxAttribute& attribute : node.attributes) {
            if (attribute.kind == Kind::tensor && attribute.tensor && is_weight(node))
                add(node.outputs[0], *attribute.tensor);
        }
        if (!is_branch(node)) continue;
        for (const bool condition : {true, false})
            if (const OnnxGraph* branch = branch_of(node, condition)) add_weights(*branch, result);
    }
}

}  // namespace

bool is_weight(const OnnxNode& node) {
    const auto tensors = std::ranges::count(node.attributes, Kind::tensor, &OnnxAttribute::kind);
    return node.function < 0 && node.inputs.empty() && node.outputs.size() == 1 && tensors == 1;
}

std::vector<OnnxWeight> weights(const OnnxModel& model) {
    std::vector<OnnxWeight> result;
    add_weights(model.graph, result);
    return result;
}

}  // namespace heddle::onnx
