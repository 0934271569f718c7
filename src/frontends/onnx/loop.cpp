#include "frontends/onnx/loop.h"

#include <algorithm>

#include <fmt/format.h>

namespace heddle::onnx {

const OnnxAttribute* attribute_of(const OnnxNode& node, const std::string& name) {
    const auto found = std::ranges::find(node.attributes, name, &OnnxAttribute::name);
    return found == node.attributes.end() ? nullptr : &*found;
}

const OnnxGraph* graph_of(const OnnxNode& node, const std::string& attribute) {
    const OnnxAttribute* found = attribute_of(node, attribute);
    return found ? found->graph.get() : nullptr;
}

int64_t integer_of(const OnnxNode& node, const std::string& attribute, int64_t otherwise) {
    const OnnxAttribute* found = attribute_of(node, attribute);
    return found ? found->integer : otherwise;
}

namespace {

std::vector<ScanWay> ways_of(const OnnxNode& node, const std::string& kind, size_t count) {
    std::vector<ScanWay> ways(count);
    const OnnxAttribute* axes = attribute_of(node, kind + "_axes");
    const OnnxAttribute* turns = attribute_of(node, kind + "_directions");
    if (!turns && kind == "scan_input") turns = attribute_of(node, "directions");  // before opset 9
    for (size_t i = 0; i < count; i++) {
        if (axes && i < axes->integers.size()) ways[i].axis = axes->integers[i];
        if (turns && i < turns->integers.size()) ways[i].reversed = turns->integers[i] != 0;
    }
    return ways;
}

}  // namespace

std::optional<LoopForm> loop_form(const OnnxNode& node) {
    LoopForm form{.body = graph_of(node, "body"), .counts = node.operator_type == "Loop"};
    if (!form.body) return std::nullopt;
    const int64_t scanned = form.counts ? 0 : integer_of(node, "num_scan_inputs", 0);
    const auto others = std::ssize(node.inputs) - static_cast<int64_t>(form.own_inputs()) - scanned;
    if (!form.counts && (scanned < 1 || others < 0)) return std::nullopt;
    form.carried = static_cast<size_t>(std::max<int64_t>(0, others));
    const size_t least = form.own_outputs() + form.carried;
    const size_t inputs = form.own_inputs() + form.carried + static_cast<size_t>(scanned);
    const bool fits = form.body->inputs.size() == inputs && form.body->outputs.size() >= least &&
                      form.body->outputs.size() == node.outputs.size() + form.own_outputs();
    if (!fits) return std::nullopt;
    form.scanned = ways_of(node, "scan_input", static_cast<size_t>(scanned));
    form.stacked = ways_of(node, "scan_output", form.body->outputs.size() - least);
    return form;
}

std::optional<OnnxNode> scan_of_examples(const OnnxNode& node) {
    const OnnxGraph* body = graph_of(node, "body");
    const bool is_one = node.domain.empty() && node.operator_type == "Scan" && body && node.inputs.size() > 1 &&
                        node.inputs[0].empty() && node.inputs.size() == body->inputs.size() + 1;
    if (!is_one) return std::nullopt;
    const size_t scanned = static_cast<size_t>(std::max<int64_t>(0, integer_of(node, "num_scan_inputs", 0)));
    const std::string prefix = node.label() + "/example/";
    OnnxNode example = node, all = node;
    auto one = std::make_shared<OnnxGraph>();
    example.name = prefix + node.label();
    example.inputs.clear();
    all.inputs.erase(all.inputs.begin());
    for (size_t i = 0; i < all.inputs.size(); i++) {
        example.inputs.push_back(fmt::format("{}{}", prefix, i));
        one->inputs.push_back({.name = example.inputs.back()});
    }
    for (size_t o = 0; o < node.outputs.size(); o++) {
        example.outputs[o] = fmt::format("{}output {}", prefix, o);
        OnnxValue value = o < body->outputs.size() ? body->outputs[o] : OnnxValue();
        value.name = example.outputs[o];
        if (o + scanned >= all.inputs.size()) value.shape.insert(value.shape.begin(), OnnxDimension());
        one->outputs.push_back(std::move(value));
    }
    one->nodes.push_back(std::move(example));
    all.attributes = {
        {.name = "num_scan_inputs", .kind = OnnxAttribute::Kind::integer, .integer = std::ssize(all.inputs)},
        {.name = "body", .kind = OnnxAttribute::Kind::graph, .graph = std::move(one)}};
    return all;
}

}  // namespace heddle::onnx
