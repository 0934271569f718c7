// The weights of a model: what training changes.
#pragma once

#include <string>
#include <vector>

#include "frontends/onnx/model.h"

namespace heddle::onnx {

struct OnnxWeight {
    std::string name;
    TensorData data;  // where the model has it
};

// Whether a node stands for a constant: it has no inputs, and one output that is named after a tensor it holds.
bool is_weight(const OnnxNode& node);

// Tensors of float types that initializers and such nodes hold, in the model's own graph and in the branches of `If`
// (two branches may have one name), in the file's order. Constants of the model's functions are not among them: they
// belong to all calls.
std::vector<OnnxWeight> weights(const OnnxModel& model);

}  // namespace heddle::onnx
