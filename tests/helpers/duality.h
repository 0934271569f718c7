// Whether the adjoints and the tangents of a graph are each other's transposes: two derivations that share the rules of
// scalar functions alone.
#pragma once

#include <cmath>
#include <random>

#include <fmt/format.h>

#include "evaluate/evaluate.h"
#include "evaluate/work.h"
#include "gradient/gradient.h"
#include "gradient/tangents.h"

namespace heddle::gradient {

inline constexpr double most_work = 1e7;  // scalar operations

inline TensorData some_like(const TensorType& type, std::mt19937_64& random) {
    TensorData data(DType::float64, type.extents());
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < data.size(); i++) data.set_real(i, normal(random));
    return data;
}

struct Sum {
    double value = 0, size = 0;

    void add(const TensorData& a, const TensorData& b) {
        for (int64_t i = 0; i < a.size(); i++) {
            value += a.real_at(i) * b.real_at(i);
            size += std::abs(a.real_at(i) * b.real_at(i));
        }
    }
};

// For random tangents t and adjoints d: sum(d * J t) and sum(J' d * t) agree, in double. What is wrong, or nothing; also
// nothing where a number is infinite or none, where it is much work, and where there are no adjoints.
inline std::string duality(const Graph& graph, const std::vector<TensorData>& feeds) {
    std::vector<TensorId> wanted;
    for (TensorId input : graph.inputs)
        if (is_float(graph.tensor(input).type.dtype)) wanted.push_back(input);
    auto back = gradient(graph, wanted), forward = tangents(graph, wanted);
    if (!back) return "";  // refused, for its own reasons
    if (!forward) return "adjoints are derived, tangents are not: " + render(forward.error());
    for (const Graph* one : {&*back, &*forward})
        if (!check_work(*one, most_work, 1, "")) return "";
    std::mt19937_64 random(17);
    std::vector<TensorData> directions, adjoints;
    for (TensorId id : wanted) directions.push_back(some_like(graph.tensor(id).type, random));
    for (size_t i = feeds.size(); i < back->inputs.size(); i++)
        adjoints.push_back(some_like(back->tensor(back->inputs[i]).type, random));
    auto results = [&](const Graph& of, const std::vector<TensorData>& behind) {
        std::vector<TensorData> all = feeds, found;
        all.insert(all.end(), behind.begin(), behind.end());
        auto values = evaluate_graph(of, all, Precision::exact);
        if (values)
            for (TensorId id : of.outputs) found.push_back((*values)[static_cast<size_t>(id)]);
        return found;
    };
    const auto moved = results(*forward, directions), slopes = results(*back, adjoints);
    if (moved.size() != adjoints.size() || slopes.size() != directions.size())
        return "";  // an index is outside, in both
    Sum of_tangents, of_adjoints;
    for (size_t i = 0; i < moved.size(); i++) of_tangents.add(moved[i], adjoints[i]);
    for (size_t i = 0; i < slopes.size(); i++) of_adjoints.add(slopes[i], directions[i]);
    const double size = of_tangents.size + of_adjoints.size;
    if (!std::isfinite(size) || std::abs(of_tangents.value - of_adjoints.value) <= 1e-7 * size + 1e-9) return "";
    return fmt::format("by tangents {}, by adjoints {}", of_tangents.value, of_adjoints.value);
}

}  // namespace heddle::gradient
