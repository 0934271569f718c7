// Gradients and tangents against differences of values; what holds of all programs that have them.
#pragma once

#include <cmath>

#include <fmt/format.h>

#include "gradient/tangents.h"
#include "batches.h"
#include "gradient_cases.h"
#include "splits.h"
#include "graph/verify.h"

namespace heddle::gradient {

inline std::vector<TensorData> outputs_of(const Graph& graph, const std::vector<TensorData>& feeds) {
    auto values = evaluate_graph(graph, feeds, Precision::body);
    EXPECT_TRUE(values) << render(values.error()) << print(graph);
    std::vector<TensorData> outputs;
    if (values)
        for (TensorId id : graph.outputs) outputs.push_back((*values)[static_cast<size_t>(id)]);
    return outputs;
}

// sum of adjoint * output, at one input's element moved by `by`.
inline double weighted(const Graph& graph, std::vector<TensorData> feeds, const std::vector<TensorData>& adjoints,
                       size_t input, int64_t element, double by) {
    feeds[input] = feeds[input].clone();
    feeds[input].set_real(element, feeds[input].real_at(element) + by);
    double sum = 0;
    size_t next = 0;
    for (const TensorData& output : outputs_of(graph, feeds)) {
        if (!is_float(output.dtype())) continue;
        const TensorData& adjoint = adjoints[next++];
        for (int64_t i = 0; i < output.size(); ++i) sum += output.real_at(i) * adjoint.real_at(i);
    }
    return sum;
}

// Where tangents of outputs are not what differences over five points along the inputs' tangents say; empty if they are.
inline std::string tangent_difference(const Graph& graph, const std::vector<TensorData>& feeds, std::mt19937& random) {
    auto made = tangents(graph, float_inputs(graph));
    if (!made) return render(made.error());
    if (auto sound = verify(*made); !sound) return render(sound.error()) + print(*made);
    const auto all = with_adjoints(graph, *made, feeds, random);
    const auto found = outputs_of(*made, all);
    auto along = [&](double by) {
        std::vector<TensorData> moved = feeds;
        size_t next = feeds.size();
        for (TensorData& feed : moved) {
            if (!is_float(feed.dtype())) continue;
            feed = feed.clone();
            const TensorData& tangent = all[next++];
            for (int64_t i = 0; i < feed.size(); ++i) feed.set_real(i, feed.real_at(i) + by * tangent.real_at(i));
        }
        std::vector<TensorData> outputs = outputs_of(graph, moved);
        std::erase_if(outputs, [](const TensorData& output) { return !is_float(output.dtype()); });
        return outputs;
    };
    const double step = 1.0 / 1024;
    const auto far_below = along(-2 * step), below = along(-step), above = along(step), far_above = along(2 * step);
    if (found.size() != below.size()) return "a tangent of each output is expected";
    for (size_t output = 0; output < found.size(); ++output) {
        if (found[output].shape() != below[output].shape()) return "a tangent has another shape";
        for (int64_t i = 0; i < found[output].size(); ++i) {
            auto at = [&](const std::vector<TensorData>& values) { return values[output].real_at(i); };
            const double expected = (8 * (at(above) - at(below)) - (at(far_above) - at(far_below))) / (12 * step);
            const double derived = found[output].real_at(i);
            if (std::abs(derived - expected) <= 1e-8 * (1 + std::abs(expected))) continue;
            return fmt::format("tangent of output {}, element {}: {} instead of {}\n{}", output, i, derived, expected,
                               print(*made));
        }
    }
    return "";
}

// Where the gradient of a graph on float64, or its tangents, are not what differences over five points say, or a
// batch of the graph is not what it is row by row, or two programs with a tape differ from one; empty if all is right. Their error is
// the step's fourth power times a fifth derivative, and rounding over the step.
inline std::string difference(const Graph& graph, const std::vector<TensorData>& feeds, std::mt19937& random) {
    const std::vector<TensorId> wanted = float_inputs(graph);
    auto made = gradient(graph, wanted);
    if (!made) return render(made.error());
    if (auto sound = verify(*made); !sound) return render(sound.error()) + print(*made);
    const auto all = with_adjoints(graph, *made, feeds, random);
    const std::vector<TensorData> adjoints(all.begin() + static_cast<int64_t>(feeds.size()), all.end());
    const auto found = outputs_of(*made, all);
    if (found.size() != wanted.size()) return "an adjoint of each input is expected";
    const double step = 1.0 / 1024;
    size_t next = 0;
    for (size_t input = 0; input < feeds.size(); ++input) {
        if (!is_float(feeds[input].dtype())) continue;
        const TensorData& derived = found[next++];
        if (derived.shape() != feeds[input].shape()) return "an adjoint has another shape";
        for (int64_t i = 0; i < derived.size(); ++i) {
            auto at = [&](double by) { return weighted(graph, feeds, adjoints, input, i, by * step); };
            const double expected = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step);
            if (std::abs(derived.real_at(i) - expected) <= 1e-8 * (1 + std::abs(expected))) continue;
            return fmt::format("input {}, element {}: {} instead of {}\n{}", input, i, derived.real_at(i), expected,
                               print(*made));
        }
    }
    if (std::string wrong = split_difference(graph, all, found); !wrong.empty()) return wrong;
    if (std::string wrong = tangent_difference(graph, feeds, random); !wrong.empty()) return wrong;
    return batch_difference(graph, feeds, random);
}

}  // namespace heddle::gradient
