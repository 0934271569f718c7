// Batched graphs against the graph on one element of the batch after another.
#pragma once

#include <cmath>

#include <fmt/format.h>

#include "gradient/batched.h"
#include "gradient_cases.h"
#include "graph/verify.h"

namespace heddle::gradient {

// Row `row` of a tensor, along its first axis.
inline TensorData row_of(const TensorData& data, int64_t row) {
    TensorData result(data.dtype(), {data.shape().begin() + 1, data.shape().end()});
    for (int64_t i = 0; i < result.size(); ++i) {
        if (is_float(data.dtype()))
            result.set_real(i, data.real_at(row * result.size() + i));
        else
            result.set_integer(i, data.integer_at(row * result.size() + i));
    }
    return result;
}

// So many feeds, a little apart, along a new first axis.
inline TensorData apart(const TensorData& feed, int64_t count) {
    std::vector<int64_t> shape = feed.shape();
    shape.insert(shape.begin(), count);
    TensorData result(feed.dtype(), shape);
    for (int64_t i = 0; i < result.size(); ++i) {
        const int64_t row = i / std::max<int64_t>(feed.size(), 1), element = i % std::max<int64_t>(feed.size(), 1);
        if (is_float(feed.dtype()))
            result.set_real(i, feed.real_at(element) + 0.001 * static_cast<double>(row));
        else
            result.set_integer(i, feed.integer_at(element));
    }
    return result;
}

// But for the order of sums.
inline bool agree(const TensorData& a, const TensorData& b) {
    if (a.shape() != b.shape()) return false;
    for (int64_t i = 0; i < a.size(); ++i)
        if (std::abs(a.real_at(i) - b.real_at(i)) > 1e-12 * (1 + std::abs(b.real_at(i)))) return false;
    return true;
}

// Where a graph with some of its inputs batched is not what the graph makes of each row; empty if it is.
inline std::string batch_difference(const Graph& graph, const std::vector<TensorData>& feeds, std::mt19937& random) {
    constexpr int64_t count = 3;
    std::vector<TensorId> wanted;
    std::vector<TensorData> batch = feeds;
    for (size_t i = 0; i < feeds.size(); ++i) {
        if (random() % 2 == 0 && i > 0) continue;
        wanted.push_back(graph.inputs[i]);
        batch[i] = apart(feeds[i], count);
    }
    auto made = batched(graph, wanted, count);
    if (!made) return render(made.error());
    if (auto sound = verify(*made); !sound) return render(sound.error()) + print(*made);
    auto found = evaluate_graph(*made, batch, Precision::body);
    if (!found) return render(found.error()) + print(*made);
    for (int64_t row = 0; row < count; ++row) {
        std::vector<TensorData> one = feeds;
        for (size_t i = 0; i < feeds.size(); ++i)
            if (batch[i].shape() != feeds[i].shape()) one[i] = row_of(batch[i], row);
        auto expected = evaluate_graph(graph, one, Precision::body);
        if (!expected) return render(expected.error());
        for (size_t i = 0; i < graph.outputs.size(); ++i) {
            const TensorData& whole = (*found)[static_cast<size_t>(made->outputs[i])];
            const TensorData& single = (*expected)[static_cast<size_t>(graph.outputs[i])];
            const bool is_longer = whole.shape().size() > single.shape().size();
            if (!agree(is_longer ? row_of(whole, row) : whole, single))
                return fmt::format("row {} of output {} differs\n{}", row, i, print(*made));
        }
    }
    return "";
}

}  // namespace heddle::gradient
