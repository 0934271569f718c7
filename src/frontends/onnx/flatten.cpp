#include "frontends/onnx/flatten.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontends/onnx/loop.h"
#include "frontends/onnx/order.h"

namespace heddle::onnx {
namespace {

using Names = std::map<std::string, std::string>;  // as written, and as they are called where they are written out
using Attributes = std::map<std::string, const OnnxAttribute*>;

std::string renamed(const Names& names, const std::string& name) {
    const auto found = names.find(name);
    return found == names.end() ? name : found->second;
}

// Copies nodes; calls among them become the nodes of their functions.
class Flattener {
public:
    Flattener(const OnnxModel& model, FlatGraph& flat) : model_(model), flat_(flat) {}

    // `names`: of what the graph sees and of outputs that others define names for. Its own other names get the prefix.
    // `attributes`: those of the call, where the graph is a function's, else null. `written_in`: that function, or -1.
    void add(const OnnxGraph& graph, const std::string& prefix, Names& names, const Attributes* attributes,
             int32_t written_in) {
        for (const OnnxTensor& tensor : graph.initializers) {
            OnnxTensor copy = tensor;
            copy.name = define(tensor.name, prefix, names);
            flat_.initializers.push_back(std::move(copy));
        }
        for (const OnnxNode& node : graph.nodes) {
            OnnxNode copy = copy_of(node, prefix, names, attributes, written_in);
            for (std::string& output : copy.outputs) output = define(output, prefix, names);
            if (!prefix.empty()) copy.name = prefix + node.label();
            if (auto scan = scan_of_examples(copy)) copy = std::move(*scan);
            node.function >= 0 ? add_call(copy, prefix) : flat_.nodes.push_back(std::move(copy));
        }
    }

    void add_identity(const std::string& from, const std::string& to) {
        flat_.nodes.push_back({.name = to, .operator_type = "Identity", .inputs = {from}, .outputs = {to}});
    }

private:
    static std::string define(const std::string& name, const std::string& prefix, Names& names) {
        if (name.empty()) return name;
        return names.try_emplace(name, prefix + name).first->second;
    }

    static OnnxNode copy_of(const OnnxNode& node, const std::string& prefix, const Names& names,
                            const Attributes* attributes, int32_t written_in) {
        OnnxNode copy = node;
        copy.written_in = written_in;
        for (std::string& input : copy.inputs) input = renamed(names, input);
        copy.attributes.clear();
        for (const OnnxAttribute& attribute : node.attributes) {
            const OnnxAttribute* value = &attribute;
            if (attributes && !attribute.reference.empty()) {
                const auto given = attributes->find(attribute.reference);
                if (given == attributes->end()) continue;  // the call does not have it
                value = given->second;
            }
            OnnxAttribute& own = copy.attributes.emplace_back(*value);
            own.name = attribute.name;
            own.reference = attributes ? std::string() : attribute.reference;
            if (own.graph) own.graph = graph_of(*own.graph, prefix, names, attributes, written_in);
        }
        return copy;
    }

    // A graph within a node: its own names get the prefix, too, so that none is one of those that it reads.
    static std::shared_ptr<OnnxGraph> graph_of(const OnnxGraph& graph, const std::string& prefix, Names names,
                                               const Attributes* attributes, int32_t written_in) {
        auto copy = std::make_shared<OnnxGraph>(graph);
        const auto define_own = [&](std::string& name) {
            if (!name.empty()) name = names.insert_or_assign(name, prefix + name).first->second;
        };
        for (OnnxTensor& tensor : copy->initializers) define_own(tensor.name);
        for (OnnxValue& input : copy->inputs) {
            const auto own = std::ranges::find(graph.initializers, input.name, &OnnxTensor::name);
            own == graph.initializers.end() ? define_own(input.name) : void(input.name = names.at(input.name));
        }
        for (OnnxNode& node : copy->nodes) {
            node = copy_of(node, prefix, names, attributes, written_in);
            for (std::string& output : node.outputs) define_own(output);
        }
        for (OnnxValue& output : copy->outputs) output.name = renamed(names, output.name);
        return copy;
    }

    void add_call(const OnnxNode& call, const std::string& prefix) {
        const OnnxFunction& function = *model_.function_of(call);
        Names names;
        for (size_t i = 0; i < function.inputs.size(); i++)
            names[function.inputs[i]] = i < call.inputs.size() ? call.inputs[i] : std::string();
        std::vector<std::pair<std::string, std::string>> passed;  // inputs that are outputs
        for (size_t i = 0; i < call.outputs.size() && i < function.outputs.size(); i++) {
            if (call.outputs[i].empty()) continue;
            const auto [name, is_new] = names.try_emplace(function.outputs[i], call.outputs[i]);
            if (!is_new) passed.emplace_back(name->second, call.outputs[i]);
        }
        Attributes attributes;
        for (const OnnxAttribute& attribute : call.attributes) attributes.try_emplace(attribute.name, &attribute);
        for (const OnnxAttribute& attribute : function.defaults) attributes.try_emplace(attribute.name, &attribute);
        // Names are for people: calls within calls must not make them endless, but each must have its own.
        constexpr size_t longest_prefix = 200;
        const std::string own = prefix.size() > longest_prefix ? std::to_string(flat_.nodes.size()) : call.label();
        add(function.graph, (prefix.size() > longest_prefix ? std::string() : prefix) + own + "/", names, &attributes,
            call.function);
        for (const auto& [from, to] : passed) add_identity(from, to);
    }

    const OnnxModel& model_;
    FlatGraph& flat_;
};

// Of tensors that nodes hold as attributes: constants are weights of the whole graph, so that graphs within see them.
// Those that are among `results` stay nodes: what they are called has another value in the other branch.
void take_constants(FlatGraph& flat, const std::vector<std::string>& results) {
    std::vector<OnnxNode> others;
    for (OnnxNode& node : flat.nodes) {
        const bool is_constant = node.domain.empty() && node.operator_type == "Constant" && node.inputs.empty() &&
                                 node.outputs.size() == 1 && node.attributes.size() == 1 &&
                                 node.attributes[0].tensor &&
                                 std::ranges::find(results, node.outputs[0]) == results.end();
        if (!is_constant) {
            others.push_back(std::move(node));
            continue;
        }
        OnnxTensor tensor = std::move(*node.attributes[0].tensor);
        tensor.name = node.outputs[0];
        flat.initializers.push_back(std::move(tensor));
    }
    flat.nodes = std::move(others);
}

}  // namespace

FlatGraph flattened(const OnnxModel& model, const OnnxGraph& graph) {
    FlatGraph flat;
    Names names;
    Flattener(model, flat).add(graph, "", names, nullptr, graph.nodes.empty() ? -1 : graph.nodes[0].written_in);
    take_constants(flat, {});
    return flat;
}

FlatGraph written_out(const OnnxModel& model, const OnnxNode& node, bool condition) {
    const OnnxGraph& branch = *branch_of(node, condition);
    FlatGraph flat;
    Flattener flattener(model, flat);
    Names names;
    std::set<std::string> defined;
    for (const OnnxNode& inner : branch.nodes) defined.insert(inner.outputs.begin(), inner.outputs.end());
    std::vector<std::pair<std::string, std::string>> passed;  // what the branch only hands on, or hands on twice
    for (size_t i = 0; i < node.outputs.size() && i < branch.outputs.size(); i++) {
        const std::string& name = branch.outputs[i].name;
        if (node.outputs[i].empty()) continue;
        if (!defined.contains(name) || !names.try_emplace(name, node.outputs[i]).second)
            passed.emplace_back(name, node.outputs[i]);
    }
    flattener.add(branch, node.label() + (condition ? "/then/" : "/else/"), names, nullptr, node.written_in);
    for (const auto& [from, to] : passed) flattener.add_identity(renamed(names, from), to);
    take_constants(flat, node.outputs);
    return flat;
}

std::string key_of(const std::vector<OnnxNode>& nodes) {
    std::string key;
    for (const OnnxNode& node : nodes) key += fmt::format("{} = {}\n", fmt::join(node.outputs, ","), node.name);
    return key;
}

std::set<std::string> reads_of(const std::vector<OnnxNode>& nodes) {
    std::set<std::string> reads;
    for (const OnnxNode& node : nodes) {
        for (const std::string_view name : reads_of(node)) reads.emplace(name);
    }
    return reads;
}

OnnxModel model_of(const OnnxModel& whole, std::vector<OnnxNode> nodes, const FindWeight& weight) {
    OnnxModel part{.path = whole.path,
                   .ir_version = whole.ir_version,
                   .metadata = {},
                   .opsets = whole.opsets,
                   .graph = {},
                   .functions = whole.functions,
                   .data_files = {},
                   .data_problems = {}};
    part.graph.nodes = std::move(nodes);
    for (const std::string& name : reads_of(part.graph.nodes)) {
        const OnnxTensor* tensor = weight(name);
        if (!tensor) continue;
        part.graph.initializers.push_back(*tensor);
        part.graph.initializers.back().name = name;
    }
    return part;
}

OnnxValue value_of(const std::string& name, DType dtype, std::vector<OnnxDimension> shape) {
    return {.name = name,
            .dtype = dtype,
            .type_text = std::string(heddle::name(dtype)),
            .has_shape = true,
            .shape = std::move(shape)};
}

}  // namespace heddle::onnx
