// Models and tensors as bytes, with every way to be wrong that a test wants.
#pragma once

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/onnx_writer.h"
#include "frontends/onnx/import.h"
#include "frontends/onnx/model.h"
#include "helpers/codes.h"
#include "helpers/library.h"
#include "language/library.h"

namespace heddle::onnx {

inline std::string raw_floats(const std::vector<float>& values) {
    std::string raw(values.size() * sizeof(float), '\0');
    std::memcpy(raw.data(), values.data(), raw.size());
    return raw;
}

// The bytes with one to three of them changed, left out or added.
inline std::string damaged(std::string bytes, std::mt19937& random) {
    for (size_t changes = 1 + random() % 3; changes > 0 && !bytes.empty(); changes--) {
        const size_t at = random() % bytes.size();
        switch (random() % 3) {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes.erase(at, 1 + random() % 4); break;
        default: bytes.insert(at, 1, static_cast<char>(random())); break;
        }
    }
    return bytes;
}

struct NodeText {
    std::string operator_type;
    std::vector<std::string> inputs, outputs;
    std::vector<Message> attributes = {};
    std::string domain = {}, overload = {};

    Message message() const {
        Message node;
        for (const auto& name : inputs) node.text(1, name);
        for (const auto& name : outputs) node.text(2, name);
        if (!overload.empty()) node.text(8, overload);
        node.text(3, "node of " + outputs.front()).text(4, operator_type);
        for (const auto& attribute : attributes) node.part(5, attribute);
        if (!domain.empty()) node.text(7, domain);
        return node;
    }
};

inline Message integer_attribute(const std::string& name, int64_t value) {
    return Message().text(1, name).number(3, value).number(20, 2);
}

inline Message real_attribute(const std::string& name, float value) {
    return Message().text(1, name).real(2, value).number(20, 1);
}

inline Message integers_attribute(const std::string& name, const std::vector<int64_t>& values) {
    Message message;
    message.text(1, name);
    for (int64_t value : values) message.number(8, value);
    return message.number(20, 7);
}

inline Message tensor_message(const std::string& name, int64_t type, const std::vector<int64_t>& dims,
                              const std::string& raw) {
    Message tensor;
    for (int64_t d : dims) tensor.number(1, d);
    return tensor.number(2, type).text(8, name).text(9, raw);
}

// A tensor whose data lie in another file; an empty offset or length is not said.
inline Message external_tensor(const std::string& name, int64_t type, const std::vector<int64_t>& dims,
                               const std::string& location, const std::string& offset = {},
                               const std::string& length = {}) {
    Message tensor;
    for (int64_t d : dims) tensor.number(1, d);
    tensor.number(2, type).text(8, name).number(14, 1);
    auto entry = [&](const char* key, const std::string& value) {
        tensor.part(13, Message().text(1, key).text(2, value));
    };
    entry("location", location);
    if (!offset.empty()) entry("offset", offset);
    if (!length.empty()) entry("length", length);
    return tensor;
}

inline Message tensor_attribute(const std::string& name, const Message& tensor) {
    return Message().text(1, name).part(5, tensor).number(20, 4);
}

// A graph within a node: nodes and the names of its outputs and inputs.
inline Message graph_attribute(const std::string& name, const std::vector<NodeText>& nodes,
                               const std::vector<std::string>& outputs, const std::vector<std::string>& inputs = {}) {
    Message graph;
    for (const auto& input : inputs) graph.part(11, Message().text(1, input));
    for (const auto& node : nodes) graph.part(1, node.message());
    graph.text(2, name);
    for (const auto& output : outputs) graph.part(12, Message().text(1, output));
    return Message().text(1, name).part(6, graph).number(20, 5);
}

using OpsetTexts = std::vector<std::pair<std::string, int64_t>>;

inline Message opset_message(const std::pair<std::string, int64_t>& opset) {
    return Message().text(1, opset.first).number(2, opset.second);
}

struct FunctionText {
    std::string name;
    std::vector<std::string> inputs, outputs;
    std::vector<NodeText> nodes;
    std::vector<std::string> attributes = {};
    std::vector<Message> defaults = {};
    std::string domain = "local", overload = {};
    OpsetTexts opsets = {{"", 17}};

    Message message() const {
        Message function;
        function.text(1, name).text(10, domain);
        for (const auto& input : inputs) function.text(4, input);
        for (const auto& output : outputs) function.text(5, output);
        for (const auto& attribute : attributes) function.text(6, attribute);
        for (const auto& attribute : defaults) function.part(11, attribute);
        for (const auto& node : nodes) function.part(7, node.message());
        for (const auto& opset : opsets) function.part(9, opset_message(opset));
        if (!overload.empty()) function.text(13, overload);
        return function;
    }
};

// An attribute of a node in a function that is the attribute `of` the function, of the given type.
inline Message reference_attribute(const std::string& name, const std::string& of, int64_t type) {
    return Message().text(1, name).number(20, type).text(21, of);
}

struct ModelText {
    std::vector<NodeText> nodes;
    std::vector<ModelValue> inputs, outputs;
    std::vector<Message> initializers = {};
    OpsetTexts opsets = {{"", 17}};
    std::vector<FunctionText> functions = {};

    std::string bytes() const {
        Message graph;
        for (const auto& node : nodes) graph.part(1, node.message());
        graph.text(2, "graph");
        for (const auto& tensor : initializers) graph.part(5, tensor);
        for (const auto& input : inputs) graph.part(11, input.message());
        for (const auto& output : outputs) graph.part(12, output.message());
        Message model;
        model.number(1, 8).part(7, graph);
        for (const auto& opset : opsets) model.part(8, opset_message(opset));
        for (const auto& function : functions) model.part(25, function.message());
        return model.bytes();
    }
};

inline Result<OnnxModel> parse(const std::string& bytes) {
    auto owner = std::make_shared<std::string>(bytes);
    return parse_model("test.onnx", std::as_bytes(std::span(owner->data(), owner->size())), owner);
}

inline Result<OnnxTensor> parse_tensor_bytes(const std::string& bytes) {
    auto owner = std::make_shared<std::string>(bytes);
    return parse_tensor("test.pb", std::as_bytes(std::span(owner->data(), owner->size())), owner);
}

inline Result<ImportedModel> import_with(const std::string& bytes, const ImportOptions& options,
                                         const Library& operators = library()) {
    auto model = parse(bytes);
    if (!model) return fail(std::move(model.error()));
    return import_model(*model, operators, options);
}

inline Result<Graph> import(const std::string& bytes, const std::map<std::string, int64_t>& bindings = {},
                            const Library& operators = library()) {
    auto imported = import_with(bytes, {.bindings = bindings, .values = {}}, operators);
    if (!imported) return fail(std::move(imported.error()));
    return std::move(imported->graph);
}

}  // namespace heddle::onnx
