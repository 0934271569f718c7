// An ONNX file as structures: names and numbers copied, weights by reference into the mapped file. Untrusted: every
// length, type and shape is checked. Field numbers: onnx.proto3 of ONNX 1.22.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontends/onnx/wire.h"
#include "support/diagnostic.h"
#include "support/tensor_data.h"

namespace heddle::onnx {

struct OnnxGraph;

struct OnnxDimension {
    std::optional<int64_t> value;
    std::string name;  // of a symbolic dimension; may be empty
};

struct OnnxValue {
    std::string name;
    std::optional<DType> dtype;  // empty: not a tensor, or of a type that we have not
    std::string type_text;       // for messages: "float32", "sequence", "complex64" ...
    bool has_shape = false;
    std::vector<OnnxDimension> shape;
};

struct OnnxTensor {
    std::string name;
    std::optional<TensorData> data;  // empty: a type that we have not, or data in another file
    std::string type_text;
    bool is_external = false;
};

struct OnnxAttribute {
    enum class Kind : uint8_t { none, real, integer, text, tensor, graph, reals, integers, texts, other };
    std::string name;
    Kind kind = Kind::none;
    double real = 0;
    int64_t integer = 0;
    std::string text;
    std::vector<float> reals;
    std::vector<int64_t> integers;
    std::vector<std::string> texts;
    std::optional<OnnxTensor> tensor;
    std::shared_ptr<OnnxGraph> graph;
};

struct OnnxNode {
    std::string name, operator_type, domain;   // "ai.onnx" is the domain ""
    std::vector<std::string> inputs, outputs;  // an absent optional has an empty name
    std::vector<OnnxAttribute> attributes;
    // For messages: the name, or the first output's.
    std::string label() const;
};

// Control flow is no operator: its nodes hold graphs. Of it, only `If` is there.
bool is_branch(const OnnxNode& node);
// Null: the node has no such branch.
const OnnxGraph* branch_of(const OnnxNode& node, bool condition);

struct OnnxGraph {
    std::string name;
    std::vector<OnnxNode> nodes;
    std::vector<OnnxTensor> initializers;
    std::vector<OnnxValue> inputs, outputs;
};

struct OnnxModel {
    std::string path;
    int64_t ir_version = 0;
    std::map<std::string, int64_t> opsets;  // by domain
    OnnxGraph graph;
};

// Codes: onnx.truncated, onnx.not_a_model, onnx.tensor (wrong sizes), and those of reading files.
Result<OnnxModel> read_model(const std::string& path);
// The same from memory that `owner` keeps.
Result<OnnxModel> parse_model(const std::string& path, Bytes bytes, std::shared_ptr<const void> owner);
// A serialised TensorProto, as test suites and `--input NAME=FILE.pb` have them. Codes: those, and onnx.external_data.
Result<OnnxTensor> parse_tensor(const std::string& path, Bytes bytes, std::shared_ptr<const void> owner);

// That the data of so many tensors are not in the model's file.
Diagnostic external_data(const std::string& file, const std::string& first, int64_t tensors);

// Our type for an ONNX data type number; its name for messages either way.
std::optional<DType> dtype_of(int64_t onnx_type);
std::string type_name(int64_t onnx_type);

}  // namespace heddle::onnx
