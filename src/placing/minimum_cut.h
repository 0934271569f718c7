// The cheapest cut between two nodes of a network (Dinic, "Algorithm for solution of a problem of maximum flow", 1970).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::placing {

class MinimumCut {
public:
    static constexpr int64_t infinite = int64_t{1} << 60;  // of a capacity; finite ones are far below

    int32_t add_node();
    // What the cut costs where `from` is on the source's side and `to` is not.
    void add_edge(int32_t from, int32_t to, int64_t capacity);
    // By node: whether it is on the source's side of a cheapest cut, with as few nodes there as possible.
    std::vector<bool> source_side(int32_t source, int32_t sink);

private:
    struct Edge {
        int32_t to = 0;
        int64_t left = 0;
    };
    bool find_levels(int32_t source, int32_t sink);
    bool push(int32_t source, int32_t sink);

    std::vector<Edge> edges_;  // each with its reverse behind it
    std::vector<std::vector<int32_t>> leaving_;
    std::vector<int32_t> level_;
    std::vector<size_t> next_;
};

}  // namespace heddle::placing
