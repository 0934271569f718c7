#include "pictures/kernel_summary.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "equations/cost.h"
#include "equations/equation_body.h"
#include "equations/operation_finder.h"
#include "equations/passes.h"
#include "pictures/draw_parts.h"
#include "target/processes.h"

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

}  // namespace

Summaries summarise(const Graph& graph, equations::System& system, const equations::Partition& partition,
                    const Target& target) {
    const equations::OperationFinder finder(graph, system);
    equations::estimate_by(system, graph.dimension_names);
    const auto costs = equations::streaming_costs_of(system, partition, target);
    Summaries summaries;
    for (const auto& batch : partition.batches) {
        for (int32_t k : batch) {
            const equations::Kernel& kernel = partition.kernels[static_cast<size_t>(k)];
            std::vector<std::string> names;
            for (auto t : kernel.outputs) names.push_back(system.tensor(t).name);
            KernelSummary& summary = summaries[fmt::format("{}", fmt::join(names, ", "))].emplace_back();
            const equations::StreamingCost& cost = costs[static_cast<size_t>(k)];
            summary.seconds = cost.rest.seconds;
            for (const equations::Streamed& each : cost.streamed) summary.seconds += each.bytes / target.bandwidth;
            for (int32_t e : kernel.equations) {
                summary.equations.push_back(summary_of(system, system.equation(e)));
                finder.add(system.equation(e), summary.operations);
            }
        }
    }
    return summaries;
}

Result<Summaries> summarise(const Graph& graph, const Target& target, int threads) {
    auto system = equations::lower(graph);
    if (!system) return fail(std::move(system.error()));
    equations::optimise(*system);
    return summarise(graph, *system, equations::fuse(*system, target, {}), with_cores(target, threads));
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
