// Greedy grouping: a heap of pairs (producer, reader), (piece, piece) of one name and (sibling, sibling), by what
// joining them gains.
#pragma once

#include <unordered_map>
#include <vector>

#include "equations/cost.h"

namespace heddle::equations {

struct Refusal {
    enum class Why : uint8_t {
        no_gain,
        idle,
        locals,
        second_contraction,
        pieces_apart,
        margins,
        equations,
        buffers,
        phases,
        parts,
        stored,
        opaque,
        path,
        message,
        apart,
    };
    Why why = Why::no_gain;
    double gain = 0;   // seconds
    double tasks = 0;  // of the kernel that was not made
};
std::string text_of(const Refusal& refusal);

class Grouping {
public:
    Grouping(const FusionGraph& graph, const Target& target, const FusionOptions& options);

    void run();

    int32_t group_of(int32_t node) const { return group_[static_cast<size_t>(node)]; }
    const std::vector<int32_t>& members(int32_t group) const { return members_[static_cast<size_t>(group)]; }
    // Why the groups of an edge's ends are two; null if nobody looked.
    const Refusal* refusal(int32_t producer_group, int32_t reader_group) const;
    double gain_of_edge(int32_t producer, int32_t reader) const;  // of an edge within a group
    int32_t due(int32_t group) const { return due_[static_cast<size_t>(group)]; }
    int32_t awaits(int32_t group) const { return awaits_[static_cast<size_t>(group)]; }
    CostModel& model() { return model_; }

private:
    // Of equal gains the one on the longer path wins: what stays apart beside that path (a shortcut's convolution) can
    // then share a launch with something on it.
    struct Offer {
        bool late;      // when nothing else is left
        bool finishes;  // before all others
        double gain;  // nanoseconds
        int32_t path;
        int64_t number;
        int32_t a, b;
        int version_a, version_b;
        bool operator<(const Offer& other) const {
            if (late != other.late) return late;
            if (finishes != other.finishes) return other.finishes;
            if (gain != other.gain) return gain < other.gain;
            return path != other.path ? path < other.path : number > other.number;
        }
    };

    static uint64_t key(int32_t a, int32_t b) {
        return static_cast<uint64_t>(static_cast<uint32_t>(a)) << 32 | static_cast<uint32_t>(b);
    }
    void keep_scans_together();
    std::vector<int32_t> united(int32_t a, int32_t b) const;
    std::vector<int32_t> neighbours(int32_t group, bool readers) const;
    const KernelCost& cost_of(int32_t group);
    bool saves_only_a_launch(int32_t a, int32_t b, const KernelCost& joined, double gain);
    bool finishes(int32_t a, int32_t b, const KernelCost& joined);
    bool leaves_cores_idle(int32_t a, int32_t b, const KernelCost& joined, double gain);
    bool reads_stored(const std::vector<int32_t>& members) const;
    bool sums_parts(const std::vector<int32_t>& members) const;
    bool structure_allows(int32_t a, int32_t b, const std::vector<int32_t>& members, Refusal::Why& why) const;
    bool is_torn(const std::vector<int32_t>& members) const;
    bool reads_margin_of_local(const std::vector<int32_t>& members) const;
    size_t buffers(const std::vector<int32_t>& members) const;
    bool refuses_second_contraction(int32_t a, int32_t b, const KernelCost& joined);
    bool holds_up_a_message(int32_t a, int32_t b) const;
    bool waits_for_a_message(int32_t a, int32_t b, double gain);
    bool path_through_others(int32_t from, int32_t to);
    int32_t longest_path_through(int32_t a, int32_t b) const;
    void offer(int32_t a, int32_t b);
    void offer_neighbours(int32_t group);
    void keep_order(int32_t a, int32_t b);
    void merge(int32_t a, int32_t b, double gain);

    const FusionGraph& graph_;
    const Target& target_;
    const FusionOptions& options_;
    CostModel model_;
    std::vector<int32_t> group_;                 // by node
    std::vector<std::vector<int32_t>> members_;  // by group, in order; empty: merged away
    std::vector<int> version_;                   // by group; -1: merged away
    std::vector<int32_t> due_, awaits_;          // by group: of its members the first, and the last
    std::vector<int32_t> order_, rank_;    // groups, each behind those that lead to it (-1: none); places by group
    std::vector<int32_t> before_, after_;  // by node: edges of the longest path to it, and from it
    std::vector<KernelCost> cost_;
    std::vector<int> cost_version_;
    std::vector<int> seen_;  // by group, of a search
    int search_ = 0;
    std::vector<Offer> heap_;
    std::unordered_map<uint64_t, Refusal> refusals_;
    std::unordered_map<uint64_t, double> gains_;  // by edge
    int64_t offers_ = 0;
};

}  // namespace heddle::equations
