#include "placing/minimum_cut.h"

#include <algorithm>

namespace heddle::placing {

int32_t MinimumCut::add_node() {
    leaving_.emplace_back();
    return static_cast<int32_t>(leaving_.size() - 1);
}

void MinimumCut::add_edge(int32_t from, int32_t to, int64_t capacity) {
    if (capacity <= 0 || from == to) return;
    leaving_[static_cast<size_t>(from)].push_back(static_cast<int32_t>(edges_.size()));
    edges_.push_back({to, capacity});
    leaving_[static_cast<size_t>(to)].push_back(static_cast<int32_t>(edges_.size()));
    edges_.push_back({from, 0});
}

bool MinimumCut::find_levels(int32_t source, int32_t sink) {
    level_.assign(leaving_.size(), -1);
    level_[static_cast<size_t>(source)] = 0;
    std::vector<int32_t> queue{source};
    for (size_t i = 0; i < queue.size(); i++) {
        const auto node = static_cast<size_t>(queue[i]);
        for (int32_t e : leaving_[node]) {
            const Edge& edge = edges_[static_cast<size_t>(e)];
            int32_t& level = level_[static_cast<size_t>(edge.to)];
            if (edge.left == 0 || level >= 0) continue;
            level = level_[node] + 1;
            queue.push_back(edge.to);
        }
    }
    return level_[static_cast<size_t>(sink)] >= 0;
}

// One path to the sink, without recursion: networks of large graphs are deep.
bool MinimumCut::push(int32_t source, int32_t sink) {
    std::vector<int32_t> path;
    int32_t node = source;
    while (node != sink) {
        const auto n = static_cast<size_t>(node);
        int32_t forward = -1;
        for (; next_[n] < leaving_[n].size(); next_[n]++) {
            const Edge& edge = edges_[static_cast<size_t>(leaving_[n][next_[n]])];
            if (edge.left > 0 && level_[static_cast<size_t>(edge.to)] == level_[n] + 1) {
                forward = leaving_[n][next_[n]];
                break;
            }
        }
        if (forward >= 0) {
            path.push_back(forward);
            node = edges_[static_cast<size_t>(forward)].to;
            continue;
        }
        if (path.empty()) return false;
        node = edges_[static_cast<size_t>(path.back() ^ 1)].to;
        path.pop_back();
        next_[static_cast<size_t>(node)]++;
    }
    int64_t amount = infinite;
    for (int32_t e : path) amount = std::min(amount, edges_[static_cast<size_t>(e)].left);
    for (int32_t e : path) {
        edges_[static_cast<size_t>(e)].left -= amount;
        edges_[static_cast<size_t>(e ^ 1)].left += amount;
    }
    return true;
}

std::vector<bool> MinimumCut::source_side(int32_t source, int32_t sink) {
    while (find_levels(source, sink)) {
        next_.assign(leaving_.size(), 0);
        while (push(source, sink)) {
        }
    }
    std::vector<bool> side(leaving_.size());
    for (size_t n = 0; n < side.size(); n++) side[n] = level_[n] >= 0;
    return side;
}

}  // namespace heddle::placing
