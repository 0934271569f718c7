#include "frontends/onnx/functions.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::onnx {
namespace {

// What the calls of a graph take when they are inlined.
struct Extent {
    int64_t nodes = 0, bytes = 0;
    int depth = 0;  // of calls and graphs within each other

    bool is_too_large() const {
        return nodes > most_inlined_nodes || bytes > most_inlined_bytes || depth > deepest_call;
    }
    std::string text() const { return fmt::format("{} nodes of {} bytes, {} deep", nodes, bytes, depth); }
};

class Linker {
public:
    explicit Linker(OnnxModel& model) : model_(model), extents_(model.functions.size()) {}

    Result<void> run() {
        if (auto fine = link(); !fine) return fine;
        auto extent = extent_of(model_.graph, false);
        if (!extent) return fail(std::move(extent.error()));
        if (extent->is_too_large()) return fail(too_large("the model's graph", extent->text()));
        return {};
    }

private:
    Result<void> link() {
        std::map<std::tuple<std::string, std::string, std::string>, int32_t> numbers;
        for (const OnnxFunction& f : model_.functions) {
            if (numbers.try_emplace({f.domain, f.name, f.overload}, static_cast<int32_t>(numbers.size())).second)
                continue;
            return fail(problem("onnx.duplicate_function",
                                fmt::format("the model defines the function '{}' twice", f.label())));
        }
        auto link_nodes = [&](OnnxGraph& graph) {
            for (OnnxNode& node : graph.nodes) {
                auto found = numbers.find({node.domain, node.operator_type, node.overload});
                if (found != numbers.end()) node.function = found->second;
            }
        };
        for_each_graph(model_.graph, link_nodes);
        for (OnnxFunction& function : model_.functions) for_each_graph(function.graph, link_nodes);
        return {};
    }

    // `inlined`: its nodes are a function's, so that each call makes them anew.
    Result<Extent> extent_of(const OnnxGraph& graph, bool inlined) {
        Extent whole;
        auto add = [&](const Result<Extent>& part) {
            if (!part) return false;
            whole.nodes += part->nodes;
            whole.bytes += part->bytes;
            whole.depth = std::max(whole.depth, part->depth + 1);
            return true;
        };
        for (const OnnxNode& node : graph.nodes) {
            if (inlined) whole.nodes++, whole.bytes += node.bytes;
            for (const OnnxAttribute& attribute : node.attributes) {
                if (!attribute.graph) continue;
                auto part = extent_of(*attribute.graph, inlined);
                if (!add(part)) return part;
            }
            if (node.function < 0) continue;
            auto part = extent_of_call(node.function);
            if (!add(part)) return part;
        }
        return whole;
    }

    // Each function is looked at once, however often it is called. None is larger than allowed, so sums stay small.
    Result<Extent> extent_of_call(int32_t number) {
        OnnxFunction& function = model_.functions[static_cast<size_t>(number)];
        auto& known = extents_[static_cast<size_t>(number)];
        if (known) return *known;
        if (std::ranges::find(calls_, number) != calls_.end()) return fail(recursion(number));
        const std::string who = fmt::format("the function '{}'", function.label());
        if (calls_.size() == deepest_call) return fail(too_large(who, fmt::format("calls {} deep", deepest_call + 1)));
        function.is_called = true;
        calls_.push_back(number);
        auto extent = extent_of(function.graph, true);
        calls_.pop_back();
        if (extent && extent->is_too_large()) return fail(too_large(who, extent->text()));
        if (extent) known = *extent;
        return extent;
    }

    Diagnostic problem(const char* code, std::string summary) const {
        return {.code = code,
                .summary = std::move(summary),
                .remedy = "the model is not valid: export it again",
                .params = {{"file", model_.path}}};
    }

    Diagnostic recursion(int32_t number) const {
        std::vector<std::string> circle;
        for (auto call = std::ranges::find(calls_, number); call != calls_.end(); ++call)
            circle.push_back(model_.functions[static_cast<size_t>(*call)].label());
        circle.push_back(circle.front());
        Diagnostic diagnostic =
            problem("onnx.recursive_function", fmt::format("the function '{}' calls itself", circle.front()));
        diagnostic.found = fmt::format("{}", fmt::join(circle, " calls "));
        diagnostic.reason = "a function stands for its nodes, and has to end without looking at data";
        return diagnostic;
    }

    Diagnostic too_large(const std::string& who, std::string found) const {
        Diagnostic diagnostic =
            problem("onnx.function_size", fmt::format("{} stands for too much when calls are written out", who));
        diagnostic.expected =
            fmt::format("at most {}", Extent{most_inlined_nodes, most_inlined_bytes, deepest_call}.text());
        diagnostic.found = std::move(found);
        diagnostic.remedy = "export the model with fewer or smaller functions";
        return diagnostic;
    }

    OnnxModel& model_;
    std::vector<std::optional<Extent>> extents_;  // by function
    std::vector<int32_t> calls_;                  // at this moment, within each other
};

}  // namespace

Result<void> link_functions(OnnxModel& model) {
    if (model.functions.empty()) return {};
    return Linker(model).run();
}

}  // namespace heddle::onnx
