#include "placing/buckets.h"

#include <algorithm>
#include <numeric>

#include "placing/costs.h"

namespace heddle::placing {
namespace {

// What a message takes of a link is then at most by a quarter more than its bytes do: the price of leaving early.
constexpr double latencies_worth = 4;

}  // namespace

std::vector<double> seconds_to_outputs(const Graph& graph, const Target& target) {
    std::vector<std::vector<size_t>> makers(graph.tensors.size());
    std::vector<size_t> depth(graph.tensors.size(), 0);
    for (size_t o = 0; o < graph.operations.size(); o++) {
        size_t before = 0;
        for (TensorId t : graph.operations[o].inputs) before = std::max(before, depth[t]);
        for (TensorId t : graph.operations[o].outputs) {
            depth[t] = std::max(depth[t], before + 1);
            makers[t].push_back(o);
        }
    }
    std::vector<size_t> order(graph.outputs.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](size_t i) { return depth[graph.outputs[i]]; });
    const auto work = work_of(graph);
    std::vector<bool> is_done(graph.operations.size());
    std::vector<double> list(graph.outputs.size());
    double all = 0;
    for (size_t i : order) {
        std::vector<TensorId> wanted = {graph.outputs[i]};
        while (!wanted.empty()) {
            const TensorId t = wanted.back();
            wanted.pop_back();
            for (size_t o : makers[t]) {
                if (is_done[o]) continue;
                is_done[o] = true;
                all += seconds(work[o], target);
                wanted.insert(wanted.end(), graph.operations[o].inputs.begin(), graph.operations[o].inputs.end());
            }
        }
        list[i] = all;
    }
    return list;
}

std::vector<size_t> buckets_of(const std::vector<Leaving>& values, double latency, double bandwidth) {
    std::vector<size_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](size_t v) { return values[v].ready; });
    std::vector<size_t> bucket(values.size());
    size_t number = 0;
    int64_t bytes = 0;
    double leaves = 0;  // once it is worth it
    const auto is_worth_it = [&] { return static_cast<double>(bytes) >= latencies_worth * latency * bandwidth; };
    for (size_t v : order) {
        if (bytes > 0 && is_worth_it() && values[v].ready > leaves) {
            number++;
            bytes = 0;
        }
        const bool was_worth_it = bytes > 0 && is_worth_it();
        bytes += values[v].bytes;
        if (!was_worth_it) leaves = values[v].ready + latency;
        bucket[v] = number;
    }
    return bucket;
}

}  // namespace heddle::placing
