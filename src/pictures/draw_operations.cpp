// A graph's operations as boxes: what each is, and the type that it makes.
#include <map>

#include <fmt/format.h>

#include "pictures/draw_parts.h"

namespace heddle::pictures {
namespace {

std::string tooltip_of(const Graph& graph, const Operation& operation) {
    std::string text = fmt::format("{} ({}), {}", operation.name, operation.operator_name, name(class_of(operation)));
    for (TensorId t : operation.inputs)
        text += fmt::format("\nreads {}: {}", graph.tensor(t).name, graph.tensor(t).type.text());
    for (TensorId t : operation.outputs)
        text += fmt::format("\nwrites {}: {}", graph.tensor(t).name, graph.tensor(t).type.text());
    for (const auto& [parameter, value] : operation.params) text += fmt::format("\n{} = {}", parameter, value);
    return text;
}

Box box_of(const Graph& graph, const Operation& operation) {
    Box box{.what = class_of(operation),
            .title = operation.operator_name,
            .lines = {},
            .tooltip = tooltip_of(graph, operation)};
    for (TensorId t : operation.outputs) box.lines.push_back(graph.tensor(t).type.text());
    std::vector<std::pair<std::string, int>> weights;  // types, with how many there are of each in a row
    for (TensorId t : operation.inputs) {
        const Tensor& tensor = graph.tensor(t);
        if (!tensor.constant || tensor.type.shape.empty()) continue;
        if (weights.empty() || weights.back().first != tensor.type.text()) weights.push_back({tensor.type.text(), 0});
        weights.back().second++;
    }
    std::string line;
    for (const auto& [type, count] : weights)
        line += (line.empty() ? "constant " : ", ") + (count > 1 ? fmt::format("{} x ", count) : "") + type;
    if (!line.empty()) box.lines.push_back(std::move(line));
    return box;
}

Box interface_box(const char* what, const Tensor& tensor) {
    return {.kind = Box::Kind::edge_of_graph,
            .title = tensor.name,
            .lines = {tensor.type.text()},
            .tooltip = fmt::format("{} {}: {}", what, tensor.name, tensor.type.text())};
}

}  // namespace

Picture draw_operations(const std::string& title, const Graph& graph) {
    std::vector<Box> boxes;
    std::vector<Arrow> arrows;
    std::map<TensorId, std::vector<size_t>> makers;  // several may write parts of one tensor
    for (TensorId t : graph.inputs) {
        makers[t].push_back(boxes.size());
        boxes.push_back(interface_box("input", graph.tensor(t)));
    }
    auto connect = [&](TensorId t, size_t to) {
        for (size_t from : makers[t]) {
            if (from < to)
                arrows.push_back({.from = from,
                                  .to = to,
                                  .label = {},
                                  .tooltip = graph.tensor(t).name + ": " + graph.tensor(t).type.text()});
        }
    };
    for (const Operation& operation : graph.operations) {
        for (TensorId t : operation.inputs) connect(t, boxes.size());
        for (TensorId t : operation.outputs) makers[t].push_back(boxes.size());
        boxes.push_back(box_of(graph, operation));
    }
    for (TensorId t : graph.outputs) {
        connect(t, boxes.size());
        boxes.push_back(interface_box("output", graph.tensor(t)));
    }
    Picture picture;
    draw_boxes(picture, fmt::format("{}: {} operations", title, graph.operations.size()), boxes, arrows);
    return picture;
}

}  // namespace heddle::pictures
