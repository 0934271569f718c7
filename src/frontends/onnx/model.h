// An ONNX file as structures: names and numbers copied, weights by reference into the mapped file, or files beside it.
// Untrusted: every length, type and shape is checked. Field numbers: onnx.proto3 of ONNX 1.22.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontends/onnx/external_data.h"
#include "frontends/onnx/wire.h"
#include "support/diagnostic.h"
#include "support/tensor_data.h"

namespace heddle::onnx {

struct OnnxGraph;

struct OnnxDimension {
    std::optional<int64_t> value;
    std::string name;  // of a symbolic dimension; may be empty
    bool operator==(const OnnxDimension&) const = default;
};

struct OnnxValue {
    std::string name;
    std::optional<DType> dtype;  // empty: not a tensor, or of a type that we have not
    std::string type_text;       // for messages: "float32", "complex64", "optional(sequence(float32))" ...
    bool has_shape = false;
    std::vector<OnnxDimension> shape;
    std::shared_ptr<const OnnxValue> element = nullptr;  // of a list, or an optional value: what it holds
};

// A list, or an optional value: a value of steps (below), and of no graph.
bool is_list(const OnnxValue& value);
bool is_optional(const OnnxValue& value);  // one of these that may be absent

struct OnnxTensor {
    std::string name;
    std::optional<TensorData> data;  // empty: a type that we have not, or something is wrong with another file
    std::string type_text;
    bool is_external = false;  // the data lie in another file; OnnxModel::data_problems tells what is wrong with it
};

struct OnnxAttribute {
    enum class Kind : uint8_t { none, real, integer, text, tensor, graph, reals, integers, texts, other };
    std::string name;
    std::string reference;  // within a function: the attribute of the function whose value it has; else empty
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
    std::string name, operator_type, domain, overload;  // "ai.onnx" is the domain ""
    std::vector<std::string> inputs, outputs;           // an absent optional has an empty name
    std::vector<OnnxAttribute> attributes;
    int32_t function = -1;  // the function of the model that it calls; -1: it is an operator
    int32_t written_in = -1;  // the function in which it stood before calls were written out (flatten.h); -1: in none
    int64_t bytes = 0;      // of its message, without tensors and graphs
    // For messages: the name, or the first output's.
    std::string label() const;
};

// Control flow is no operator: its nodes hold graphs. An `If`, if no function has this name.
bool is_branch(const OnnxNode& node);
// A node that is no operation on tensors, but a step between graphs: loops, and lists of tensors (inference/steps.h).
bool is_step(const OnnxNode& node);
// Null: the node has no such branch.
const OnnxGraph* branch_of(const OnnxNode& node, bool condition);

struct OnnxGraph {
    std::string name;
    std::vector<OnnxNode> nodes;  // each behind those whose values it reads
    std::vector<OnnxTensor> initializers;
    std::vector<OnnxValue> inputs, outputs;
};

using Opsets = std::map<std::string, int64_t>;  // by domain

// An operator that the model defines itself, by nodes. A node of its domain, name and overload is a call, even where an
// operator of ONNX has the name.
struct OnnxFunction {
    std::string name, domain, overload;
    std::vector<std::string> inputs, outputs;  // what its nodes call them
    std::vector<OnnxAttribute> defaults;       // attributes of calls that do not give them
    Opsets opsets;
    OnnxGraph graph;         // only nodes
    bool is_called = false;  // by the model's graph, or by a function that is

    std::string label() const { return domain.empty() ? name : domain + "." + name; }
};

// What a model says of itself, for people.
struct OnnxMetadata {
    std::string producer_name, producer_version, domain, description, graph_description;
    std::optional<int64_t> version;
    std::map<std::string, std::string> properties;
};

struct OnnxModel {
    std::string path;
    int64_t ir_version = 0;
    OnnxMetadata metadata;
    Opsets opsets;
    OnnxGraph graph;
    // Calls among those that are called form no circle, are not nested deeper than `deepest_call`, and expand to no
    // more than `most_inlined_nodes` and `most_inlined_bytes`.
    std::vector<OnnxFunction> functions;
    // Other files that hold its tensors: what follows from a model, follows from these too.
    std::vector<std::string> data_files;
    Diagnostics data_problems;  // what is wrong with them (external_data.h)

    // Null for the model's own graph.
    const OnnxFunction* function_of(const OnnxNode& node) const {
        return node.function < 0 ? nullptr : &functions[static_cast<size_t>(node.function)];
    }
    // The opset of `domain` in the graph of a function, or in the model's own; 0: nothing says it.
    int64_t opset_of(const OnnxFunction* function, const std::string& domain) const;
};

inline constexpr int deepest_call = 64;                          // calls and graphs within each other
inline constexpr int64_t most_inlined_nodes = int64_t{1} << 17;  // that calls stand for, all together
inline constexpr int64_t most_inlined_bytes = int64_t{1} << 26;

// Codes: onnx.truncated, onnx.not_a_model, onnx.tensor (wrong sizes), onnx.duplicate_function, onnx.recursive_function,
// onnx.function_size, onnx.cycle, and those of reading files.
Result<OnnxModel> read_model(const std::string& path);
// The same from memory that `owner` keeps. Without `open`, data in other files are a problem of the model.
Result<OnnxModel> parse_model(const std::string& path, Bytes bytes, std::shared_ptr<const void> owner,
                              OpenDataFile open = nullptr);

// A serialised TensorProto, as test suites and `--input NAME=FILE.pb` have them. Codes: those, and ExternalData's.
Result<OnnxTensor> read_tensor(const std::string& path);
Result<OnnxTensor> parse_tensor(const std::string& path, Bytes bytes, std::shared_ptr<const void> owner,
                                OpenDataFile open = nullptr);

// Our type for an ONNX data type number; its name for messages either way.
std::optional<DType> dtype_of(int64_t onnx_type);
std::string type_name(int64_t onnx_type);

}  // namespace heddle::onnx
