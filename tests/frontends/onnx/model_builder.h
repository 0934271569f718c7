// Models and tensors as bytes, with every way to be wrong that a test wants.
#pragma once

#include <memory>
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

struct NodeText {
    std::string operator_type;
    std::vector<std::string> inputs, outputs;
    std::vector<Message> attributes = {};
    std::string domain = {};

    Message message() const {
        Message node;
        for (const auto& name : inputs) node.text(1, name);
        for (const auto& name : outputs) node.text(2, name);
        node.text(3, "node of " + outputs.front()).text(4, operator_type);
        for (const auto& attribute : attributes) node.part(5, attribute);
        if (!domain.empty()) node.text(7, domain);
        return node;
    }
};

inline Message integer_attribute(const std::string& name, int64_t value) {
    return Message().text(1, name).number(3, value).number(20, 2);
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

inline Message tensor_attribute(const std::string& name, const Message& tensor) {
    return Message().text(1, name).part(5, tensor).number(20, 4);
}

// A graph within a node: nodes and the names of its outputs.
inline Message graph_attribute(const std::string& name, const std::vector<NodeText>& nodes,
                               const std::vector<std::string>& outputs) {
    Message graph;
    for (const auto& node : nodes) graph.part(1, node.message());
    graph.text(2, name);
    for (const auto& output : outputs) graph.part(12, Message().text(1, output));
    return Message().text(1, name).part(6, graph).number(20, 5);
}

struct ModelText {
    std::vector<NodeText> nodes;
    std::vector<ModelValue> inputs, outputs;
    std::vector<Message> initializers = {};
    std::vector<std::pair<std::string, int64_t>> opsets = {{"", 17}};

    std::string bytes() const {
        Message graph;
        for (const auto& node : nodes) graph.part(1, node.message());
        graph.text(2, "graph");
        for (const auto& tensor : initializers) graph.part(5, tensor);
        for (const auto& input : inputs) graph.part(11, input.message());
        for (const auto& output : outputs) graph.part(12, output.message());
        Message model;
        model.number(1, 8).part(7, graph);
        for (const auto& [domain, version] : opsets) model.part(8, Message().text(1, domain).number(2, version));
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
