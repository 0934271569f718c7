// A graph's operations as boxes: what each is, and the type that it makes.
#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pictures/draw_parts.h"

namespace heddle::pictures {
namespace {

std::string short_type(const TensorType& type) { return pictures::short_type(type.dtype, type.shape); }

std::string long_type(const TensorType& type) { return pictures::long_type(type.dtype, type.shape); }

std::string tooltip_of(const Graph& graph, const Operation& operation) {
    std::string text = fmt::format("{} ({}), {}", operation.name, operation.operator_name, name(class_of(operation)));
    for (TensorId t : operation.inputs)
        text += fmt::format("\nreads {}: {}", graph.tensor(t).name, long_type(graph.tensor(t).type));
    for (TensorId t : operation.outputs)
        text += fmt::format("\nwrites {}: {}", graph.tensor(t).name, long_type(graph.tensor(t).type));
    for (const auto& [parameter, value] : operation.params) text += fmt::format("\n{} = {}", parameter, value);
    return text;
}

// Of operations that are parts of one use of an operator, with all that they read and write.
Box box_of(const Graph& graph, std::span<const Operation> parts, const std::vector<TensorId>& inputs,
           const std::vector<TensorId>& outputs) {
    const Operation& operation = parts.front();
    Box box{.what = class_of(operation), .title = operation.operator_name, .name = operation.name};
    for (const Operation& part : parts) box.tooltip += (box.tooltip.empty() ? "" : "\n") + tooltip_of(graph, part);
    for (TensorId t : outputs) box.lines.push_back(short_type(graph.tensor(t).type));
    std::vector<std::pair<std::string, int>> weights;  // types, with how many there are of each in a row
    for (TensorId t : inputs) {
        const Tensor& tensor = graph.tensor(t);
        if (!tensor.constant || tensor.type.shape.empty()) continue;
        const std::string type = short_type(tensor.type);
        if (weights.empty() || weights.back().first != type) weights.push_back({type, 0});
        weights.back().second++;
    }
    for (const auto& [type, count] : weights)
        box.lines.push_back("constant " + (count > 1 ? fmt::format("{} x ", count) : "") + type);
    box.says = fmt::format("{} {}\n{}\n{}", name(box.what), box.title, fmt::join(box.lines, "\n"),
                           fmt::join(operation.params, "\n"));
    return box;
}

Box interface_box(const char* what, const Tensor& tensor) {
    const std::string type = short_type(tensor.type);
    return {.kind = Box::Kind::edge_of_graph,
            .title = tensor.name,
            .lines = {type},
            .tooltip = fmt::format("{} {}: {}", what, tensor.name, long_type(tensor.type)),
            .name = tensor.name,
            .says = fmt::format("{} {}", what, type)};
}

// Inputs come just before what reads them first, outputs just behind what makes them: where there are some in each
// layer, they are a part of it.
class OperationsDrawing {
public:
    explicit OperationsDrawing(const Graph& graph) : graph_(graph), inputs_(graph.inputs.begin(), graph.inputs.end()) {
        for (TensorId t : graph.outputs) outputs_[t]++;
        for (const Operation& operation : graph.operations) {
            for (TensorId t : operation.outputs) makings_[t]++;
        }
    }

    Drawing run() {
        const std::span<const Operation> operations = graph_.operations;
        for (size_t begin = 0, end; begin < operations.size(); begin = end) {
            for (end = begin + 1; end < operations.size() && same_use(operations[end - 1], operations[end]);) end++;
            uses_.push_back(use_of(operations.subspan(begin, end - begin)));
            const Use& use = uses_.back();
            if (use.waits) {
                for (TensorId t : use.writes) waiting_[t].push_back(uses_.size() - 1);
            } else {
                add_with_waiting(uses_.size() - 1);
            }
        }
        for (size_t use = 0; use < uses_.size(); use++) {
            if (uses_[use].waits) add_with_waiting(use);
        }
        for (TensorId t : graph_.inputs) {
            if (!makers_.contains(t)) add(interface_box("input", graph_.tensor(t)), {}, {t});
        }
        for (TensorId t : graph_.outputs) add_outputs(t);
        return std::move(drawing_);
    }

private:
    // One use of an operator. What is made of constants alone waits for its first reader, to be drawn beside it.
    struct Use {
        std::span<const Operation> parts;
        std::vector<TensorId> reads, writes;
        bool waits = false;
    };

    Use use_of(std::span<const Operation> parts) const {
        Use use{.parts = parts};
        auto add_new = [](std::vector<TensorId>& list, const std::vector<TensorId>& more) {
            for (TensorId t : more) {
                if (std::ranges::find(list, t) == list.end()) list.push_back(t);
            }
        };
        for (const Operation& part : parts) {
            add_new(use.reads, part.inputs);
            add_new(use.writes, part.outputs);
        }
        use.waits = std::ranges::all_of(use.reads, [&](TensorId t) {
            return waiting_.contains(t) || (graph_.tensor(t).constant && !inputs_.contains(t));
        });
        return use;
    }

    // After all that it reads and that still waits.
    void add_with_waiting(size_t use) {
        std::set<size_t> needed = {use};
        for (std::vector<size_t> open = {use}; !open.empty();) {
            const size_t next = open.back();
            open.pop_back();
            for (TensorId t : uses_[next].reads) {
                auto found = waiting_.find(t);
                if (found == waiting_.end()) continue;
                for (size_t maker : found->second) {
                    if (uses_[maker].waits && needed.insert(maker).second) open.push_back(maker);
                }
            }
        }
        for (size_t next : needed) add(uses_[next]);
    }

    void add(Use& use) {
        use.waits = false;
        for (TensorId t : use.reads) {
            if (inputs_.contains(t) && !makers_.contains(t)) add(interface_box("input", graph_.tensor(t)), {}, {t});
        }
        add(box_of(graph_, use.parts, use.reads, use.writes), use.reads, use.writes);
        for (const Operation& part : use.parts) {
            for (TensorId t : part.outputs) {
                if (--makings_[t] == 0) add_outputs(t);
            }
        }
    }

    void add_outputs(TensorId t) {
        for (int left = std::exchange(outputs_[t], 0); left > 0; left--)
            add(interface_box("output", graph_.tensor(t)), {t}, {});
    }

    void add(Box box, const std::vector<TensorId>& inputs, const std::vector<TensorId>& outputs) {
        const size_t to = drawing_.boxes.size();
        for (TensorId t : inputs) {
            for (size_t from : makers_[t])
                drawing_.arrows.push_back({.from = from,
                                           .to = to,
                                           .tooltip = graph_.tensor(t).name + ": " + long_type(graph_.tensor(t).type)});
        }
        for (TensorId t : outputs) makers_[t].push_back(to);
        drawing_.boxes.push_back(std::move(box));
    }

    const Graph& graph_;
    const std::set<TensorId> inputs_;
    std::vector<Use> uses_;
    std::map<TensorId, std::vector<size_t>> waiting_;  // uses that have waited, or do, by what they write
    Drawing drawing_;
    std::map<TensorId, std::vector<size_t>> makers_;  // several may write parts of one tensor
    std::map<TensorId, int> makings_, outputs_;       // still to come
};

}  // namespace

bool same_use(const Operation& before, const Operation& after) {
    return before.each && after.each && before.each->of == after.each->of && before.each->value < after.each->value &&
           before.operator_name == after.operator_name;
}

Drawing operations_of(const std::string& title, const Graph& graph) {
    Drawing drawing = OperationsDrawing(graph).run();
    drawing.title = fmt::format("{}: {} operations", title, graph.operations.size());
    return drawing;
}

std::vector<Picture> draw_operations(const std::string& title, const Graph& graph, bool unfold) {
    Drawing drawing = operations_of(title, graph);
    if (!unfold) fold(drawing);
    return draw_pages(drawing);
}

}  // namespace heddle::pictures
