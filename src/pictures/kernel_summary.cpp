#include "pictures/kernel_summary.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "equations/equation_body.h"
#include "equations/passes.h"
#include "pictures/draw_parts.h"

namespace heddle::pictures {
namespace {

constexpr size_t most_title = 64;  // letters of operators' names
constexpr std::string_view no_break = "\u00a0";

bool reads_tensor(equations::Expr expression) {
    for (equations::Expr node : equations::walk(expression)) {
        if (node->kind == equations::Kind::read || node->kind == equations::Kind::guarded_read) return true;
    }
    return false;
}

EquationSummary summary_of(const equations::System& system, const equations::Equation& equation) {
    using Kind = equations::Kind;
    std::vector<std::string> operators;
    for (equations::Expr node : equations::walk(equation.right)) {
        if ((node->kind != Kind::scalar && node->kind != Kind::cast) || !reads_tensor(node)) continue;
        std::string op(node->kind == Kind::cast       ? name(node->dtype)
                       : info(node->op).infix.empty() ? info(node->op).name
                                                      : info(node->op).infix);
        if (std::find(operators.begin(), operators.end(), op) == operators.end()) operators.push_back(op);
    }
    EquationSummary summary;
    summary.what = equation.scan >= 0 ? OperationClass::scan : class_of(equations::body_of(system, equation).body);
    const equations::SystemTensor& tensor = system.tensor(equation.tensor);
    summary.text = tensor.name + " =";
    if (equation.reducer) {
        std::vector<int64_t> extents;
        for (auto axis : equation.reduced) extents.push_back(system.arena->extent(axis));
        summary.text += fmt::format(" {} over {}", name(*equation.reducer), fmt::join(extents, " x "));
    }
    std::reverse(operators.begin(), operators.end());
    if (operators.size() > 5) operators.resize(5), operators.emplace_back("...");
    if (!operators.empty())
        summary.text += fmt::format(" ({})", fmt::join(operators, " "));
    else if (!equation.reducer)
        summary.text += " moved";
    return summary;
}

// Which operations an equation stands for: that of its tensor, and those before it whose results are no tensors any
// more, since passes have put them into what reads them. An operation with a step that is a tensor of its own (the sum
// of a convolution) is where this is made, though what is left of it (the bias) may have gone elsewhere. Of several
// that write parts of one tensor it is those that read what the equation reads.
class OperationFinder {
public:
    OperationFinder(const Graph& graph, const equations::System& system)
        : graph_(graph),
          system_(system),
          makers_(graph.tensors.size()),
          tensors_(graph.tensors.size(), no_id),
          has_steps_(graph.operations.size(), false),
          sources_(graph.operations.size()) {
        for (size_t o = 0; o < graph.operations.size(); o++) {
            for (TensorId t : graph.operations[o].outputs) makers_[t].push_back(OperationId(o));
        }
        for (size_t t = 0; t < system.tensors.size(); t++) {
            const equations::SystemTensor& tensor = system.tensors[t];
            const bool made =
                std::ranges::any_of(tensor.equations, [&](int32_t e) { return !system.equation(e).dead; });
            if (!made && tensor.kind == equations::SystemTensor::Kind::computed) continue;
            if (tensor.graph_tensor >= 0) {
                tensors_[tensor.graph_tensor] = equations::TensorIndex(t);
            } else if (tensor.operation >= 0) {
                has_steps_[tensor.operation] = true;
                sources_[tensor.operation].insert(equations::TensorIndex(t));
            }
        }
        for (size_t o = 0; o < graph.operations.size(); o++) {
            for (TensorId t : graph.operations[o].inputs) {
                if (tensors_[t] >= 0) sources_[o].insert(tensors_[t]);
                if (tensors_[t] >= 0) continue;
                for (OperationId maker : makers_[t]) sources_[o].insert(sources_[maker].begin(), sources_[maker].end());
            }
        }
    }

    void add(const equations::Equation& equation, std::set<OperationId>& operations) const {
        std::set<equations::TensorIndex> read;
        for (equations::Expr access : equations::reads(equation)) read.insert(access->tensor());
        std::vector<OperationId> open;
        auto add_all = [&](const std::vector<OperationId>& makers, bool whole) {
            for (OperationId o : makers) {
                const bool own = makers.size() == 1 ||
                                 std::ranges::any_of(sources_[o], [&](auto source) { return read.contains(source); });
                if (own && (whole || !has_steps_[o]) && operations.insert(o).second) open.push_back(o);
            }
        };
        const equations::SystemTensor& tensor = system_.tensor(equation.tensor);
        if (tensor.graph_tensor >= 0)
            add_all(makers_[tensor.graph_tensor], true);
        else if (tensor.operation >= 0)
            add_all({tensor.operation}, true);
        while (!open.empty()) {
            const OperationId o = open.back();
            open.pop_back();
            for (TensorId t : graph_.operation(o).inputs) {
                if (tensors_[t] < 0) add_all(makers_[t], false);
            }
        }
    }

private:
    const Graph& graph_;
    const equations::System& system_;
    std::vector<std::vector<OperationId>> makers_;           // by tensor
    std::vector<equations::TensorIndex> tensors_;            // by tensor: the system's, where it still is one
    std::vector<bool> has_steps_;                            // by operation
    std::vector<std::set<equations::TensorIndex>> sources_;  // by operation: tensors of the system that it is made of
};

}  // namespace

Summaries summarise(const Graph& graph, const equations::System& system, const equations::Partition& partition) {
    const OperationFinder finder(graph, system);
    Summaries summaries;
    for (const auto& batch : partition.batches) {
        for (int32_t k : batch) {
            const equations::Kernel& kernel = partition.kernels[static_cast<size_t>(k)];
            std::vector<std::string> names;
            for (auto t : kernel.outputs) names.push_back(system.tensor(t).name);
            KernelSummary& summary = summaries[fmt::format("{}", fmt::join(names, ", "))].emplace_back();
            for (int32_t e : kernel.equations) {
                summary.equations.push_back(summary_of(system, system.equation(e)));
                finder.add(system.equation(e), summary.operations);
            }
        }
    }
    return summaries;
}

Result<Summaries> summarise(const Graph& graph, const Target& target) {
    auto system = equations::lower(graph);
    if (!system) return fail(std::move(system.error()));
    equations::optimise(*system);
    return summarise(graph, *system, equations::fuse(*system, target, {}));
}

std::string operators_text(const Graph& graph, const std::set<OperationId>& operations) {
    const bool computes = std::ranges::any_of(
        operations, [&](OperationId o) { return class_of(graph.operation(o)) != OperationClass::movement; });
    std::vector<std::pair<std::string, size_t>> runs;
    const Operation* last = nullptr;
    size_t left = 0;
    for (OperationId o : operations) {
        const Operation& operation = graph.operation(o);
        if (computes && class_of(operation) == OperationClass::movement) continue;
        if (last && same_use(*last, operation)) continue;
        last = &operation;
        if (runs.empty() || runs.back().first != operation.operator_name) runs.push_back({operation.operator_name, 0});
        runs.back().second++;
        left++;
    }
    std::string text;
    for (const auto& [name, count] : runs) {
        if (left > count && !text.empty() && text.size() + name.size() > most_title)
            return fmt::format("{} and {} more", text, left);
        text += fmt::format("{}{}{}", text.empty() ? "" : ", ", name,
                            count > 1 ? fmt::format("{}×{}", no_break, count) : "");
        left -= count;
    }
    return text;
}

}  // namespace heddle::pictures
