#include "gradient/check_rule.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "evaluate/evaluate.h"
#include "evaluate/work.h"
#include "gradient/gradient.h"

namespace heddle::gradient {
namespace {

TensorData made_up(const TensorType& type, std::mt19937_64& random) {
    TensorData data(is_float(type.dtype) ? DType::float64 : type.dtype, type.extents());
    std::uniform_real_distribution<double> between(0.2, 1.8);
    for (int64_t i = 0; i < data.size(); ++i) {
        if (is_float(type.dtype))
            data.set_real(i, between(random));
        else
            data.set_integer(i, static_cast<int64_t>(random() % 2));
    }
    return data;
}

// In double; nothing where the program cannot run.
std::vector<TensorData> results(const Graph& graph, const std::vector<TensorData>& feeds) {
    auto values = evaluate_graph(graph, feeds, Precision::exact);
    std::vector<TensorData> found;
    if (values)
        for (TensorId id : graph.outputs) found.push_back((*values)[static_cast<size_t>(id)]);
    return found;
}

}  // namespace

std::optional<RuleDifference> rule_difference(const Graph& graph) {
    constexpr double tolerance = 1e-6, most_work = 1e7;  // scalar operations: templates are not trusted
    Graph bodies = graph;
    for (Operation& operation : bodies.operations) {
        if (!operation.body) return std::nullopt;
        operation.gradient = nullptr;
    }
    std::vector<TensorId> wanted = graph.inputs;
    std::erase_if(wanted, [&](TensorId id) { return !is_float(graph.tensor(id).type.dtype); });
    auto ruled = gradient(graph, wanted), derived = gradient(bodies, wanted);
    if (!ruled || !derived) return std::nullopt;
    for (const Graph* one : {&*ruled, &*derived})
        if (!check_work(*one, most_work, 1, "")) return std::nullopt;
    std::mt19937_64 random(1);
    std::vector<TensorData> feeds;
    for (TensorId id : ruled->inputs) feeds.push_back(made_up(ruled->tensor(id).type, random));
    const std::vector<TensorData> by_rule = results(*ruled, feeds), by_body = results(*derived, feeds);
    std::optional<RuleDifference> worst;
    double largest = 0;
    for (size_t i = 0; i < std::min(by_rule.size(), by_body.size()); ++i) {
        for (int64_t k = 0; k < by_rule[i].size(); ++k) {
            const double a = by_rule[i].real_at(k), b = by_body[i].real_at(k), difference = std::abs(a - b);
            if (!(difference > tolerance * (1 + std::abs(b)) && difference > largest)) continue;
            largest = difference;
            worst = {graph.tensor(wanted[i]).name, a, b};
        }
    }
    return worst;
}

}  // namespace heddle::gradient
