#include "gradient/save_cut.h"

#include <algorithm>

namespace heddle::gradient {
namespace {

class Network {
public:
    explicit Network(size_t nodes) : edges_of_(nodes) {}

    void connect(size_t from, size_t to, int64_t capacity) {
        edges_of_[from].push_back(edges_.size());
        edges_.push_back({to, capacity});
        edges_of_[to].push_back(edges_.size());
        edges_.push_back({from, 0});
    }

    // What can be reached from the source once no more flows.
    std::vector<bool> source_side(size_t source, size_t sink) {
        while (find_levels(source)[sink] >= 0) {
            next_.assign(edges_of_.size(), 0);
            while (push(source, sink)) {
            }
        }
        std::vector<bool> reached(edges_of_.size());
        for (size_t node = 0; node < reached.size(); ++node) reached[node] = level_[node] >= 0;
        return reached;
    }

private:
    struct Edge {
        size_t to;
        int64_t capacity;
    };

    const std::vector<int>& find_levels(size_t source) {
        level_.assign(edges_of_.size(), -1);
        std::vector<size_t> queue = {source};
        level_[source] = 0;
        for (size_t i = 0; i < queue.size(); ++i) {
            for (size_t edge : edges_of_[queue[i]]) {
                if (edges_[edge].capacity == 0 || level_[edges_[edge].to] >= 0) continue;
                level_[edges_[edge].to] = level_[queue[i]] + 1;
                queue.push_back(edges_[edge].to);
            }
        }
        return level_;
    }

    // One path, along levels; without recursion, for chains may be long.
    bool push(size_t source, size_t sink) {
        std::vector<size_t> path;  // edges
        size_t at = source;
        while (at != sink) {
            if (next_[at] == edges_of_[at].size()) {
                if (path.empty()) return false;
                at = edges_[path.back() ^ 1].to;
                path.pop_back();
                ++next_[at];
                continue;
            }
            const size_t edge = edges_of_[at][next_[at]];
            if (edges_[edge].capacity > 0 && level_[edges_[edge].to] == level_[at] + 1) {
                path.push_back(edge);
                at = edges_[edge].to;
            } else {
                ++next_[at];
            }
        }
        int64_t flow = never;
        for (size_t edge : path) flow = std::min(flow, edges_[edge].capacity);
        for (size_t edge : path) {
            edges_[edge].capacity -= flow;
            edges_[edge ^ 1].capacity += flow;
        }
        return true;
    }

    std::vector<Edge> edges_;  // an edge and its opposite side by side
    std::vector<std::vector<size_t>> edges_of_;
    std::vector<int> level_;
    std::vector<size_t> next_;
};

}  // namespace

std::vector<bool> cheapest_to_keep(const std::vector<CutValue>& values) {
    const size_t source = 2 * values.size(), sink = source + 1;
    auto asked = [](size_t value) { return 2 * value; };
    auto again = [](size_t value) { return 2 * value + 1; };
    Network network(sink + 1);
    for (size_t i = 0; i < values.size(); ++i) {
        if (values[i].needed) network.connect(source, asked(i), never);
        network.connect(asked(i), again(i), values[i].keep);
        network.connect(again(i), sink, values[i].again);
        for (size_t input : values[i].inputs) network.connect(again(i), asked(input), never);
    }
    const std::vector<bool> reached = network.source_side(source, sink);
    std::vector<bool> kept(values.size());
    for (size_t i = 0; i < values.size(); ++i) kept[i] = reached[asked(i)] && !reached[again(i)];
    return kept;
}

}  // namespace heddle::gradient
