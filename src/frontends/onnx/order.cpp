#include "frontends/onnx/order.h"

#include <algorithm>
#include <queue>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "frontends/onnx/functions.h"

namespace heddle::onnx {
namespace {

// The nodes of one graph, by number, and which of them read which.
class Order {
public:
    explicit Order(OnnxGraph& graph) : nodes_(graph.nodes), readers_(nodes_.size()), waits_for_(nodes_.size()) {
        std::unordered_map<std::string_view, size_t> makers;
        for (size_t i = 0; i < nodes_.size(); i++) {
            for (const std::string& output : nodes_[i].outputs)
                if (!output.empty()) makers.try_emplace(output, i);
        }
        // Whoever defines one of these again is told so when the graph is imported.
        for (const OnnxValue& input : graph.inputs) makers.erase(input.name);
        for (const OnnxTensor& tensor : graph.initializers) makers.erase(tensor.name);
        for (size_t i = 0; i < nodes_.size(); i++) {
            for (const std::string_view name : reads_of(nodes_[i])) {
                const auto maker = makers.find(name);
                if (maker == makers.end()) continue;
                readers_[maker->second].push_back(i);
                waits_for_[i].push_back(maker->second);
                is_ordered_ = is_ordered_ && maker->second < i;
            }
        }
    }

    // Empty, or the nodes of a circle.
    std::vector<size_t> apply() {
        if (is_ordered_) return {};
        std::vector<size_t> missing, order;
        std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;  // first those that stood first
        for (size_t i = 0; i < nodes_.size(); i++) {
            missing.push_back(waits_for_[i].size());
            if (missing[i] == 0) ready.push(i);
        }
        while (!ready.empty()) {
            order.push_back(ready.top());
            ready.pop();
            for (const size_t reader : readers_[order.back()])
                if (--missing[reader] == 0) ready.push(reader);
        }
        if (order.size() < nodes_.size()) return circle(missing);
        std::vector<OnnxNode> ordered;
        for (const size_t i : order) ordered.push_back(std::move(nodes_[i]));
        nodes_ = std::move(ordered);
        return {};
    }

private:
    // Whoever misses something waits for one that misses something, so that the way back never ends.
    std::vector<size_t> circle(const std::vector<size_t>& missing) const {
        const auto is_stuck = [&](size_t node) { return missing[node] > 0; };
        std::vector<size_t> way;
        std::vector<bool> seen(nodes_.size());
        size_t at = static_cast<size_t>(std::ranges::find_if(missing, [](size_t count) { return count > 0; }) -
                                        missing.begin());
        for (; !seen[at]; at = *std::ranges::find_if(waits_for_[at], is_stuck)) {
            seen[at] = true;
            way.push_back(at);
        }
        way.erase(way.begin(), std::ranges::find(way, at));
        return way;
    }

    std::vector<OnnxNode>& nodes_;
    std::vector<std::vector<size_t>> readers_, waits_for_;
    bool is_ordered_ = true;
};

Diagnostic circle_problem(const OnnxModel& model, const OnnxGraph& graph, const std::vector<size_t>& circle) {
    constexpr size_t most = 8;
    std::string names;
    for (size_t i = 0; i < std::min(circle.size(), most); i++)
        names += fmt::format("'{}' reads ", graph.nodes[circle[i]].label());
    names += circle.size() > most ? fmt::format("... {} more ... reads ", circle.size() - most) : std::string();
    return {.code = "onnx.cycle",
            .summary = fmt::format("node '{}' needs its own result", graph.nodes[circle.front()].label()),
            .found = fmt::format("{}'{}'", names, graph.nodes[circle.front()].label()),
            .reason = "a graph's nodes are computed one after another",
            .remedy = "the model is not valid: export it again",
            .params = {{"file", model.path}, {"node", graph.nodes[circle.front()].label()}}};
}

}  // namespace

std::set<std::string_view> captures_of(const OnnxGraph& graph) {
    std::unordered_set<std::string_view> own;
    for (const OnnxValue& input : graph.inputs) own.insert(input.name);
    for (const OnnxTensor& tensor : graph.initializers) own.insert(tensor.name);
    for (const OnnxNode& node : graph.nodes) own.insert(node.outputs.begin(), node.outputs.end());
    std::set<std::string_view> read;
    auto add = [&](std::string_view name) {
        if (!own.contains(name)) read.insert(name);
    };
    for (const OnnxNode& node : graph.nodes) std::ranges::for_each(reads_of(node), add);
    for (const OnnxValue& output : graph.outputs) add(output.name);
    return read;
}

bool captures(const OnnxNode& node, std::string_view value) {
    return std::ranges::any_of(node.attributes, [&](const OnnxAttribute& attribute) {
        return attribute.graph && captures_of(*attribute.graph).contains(value);
    });
}

std::set<std::string_view> reads_of(const OnnxNode& node) {
    std::set<std::string_view> read(node.inputs.begin(), node.inputs.end());
    for (const OnnxAttribute& attribute : node.attributes) {
        if (attribute.graph) read.merge(captures_of(*attribute.graph));
    }
    read.erase("");
    return read;
}

Result<void> order_nodes(OnnxModel& model) {
    Diagnostics problems;
    const auto order = [&](OnnxGraph& graph) {
        if (const auto circle = Order(graph).apply(); !circle.empty())
            problems.push_back(circle_problem(model, graph, circle));
    };
    for_each_graph(model.graph, order);
    for (OnnxFunction& function : model.functions) for_each_graph(function.graph, order);
    if (!problems.empty()) return fail(std::move(problems));
    return {};
}

}  // namespace heddle::onnx
