// Common axes T of a set of equations: tasks of a kernel are independent over them. Rules: docs/equations.md, "Common
// axes".
#pragma once

#include <vector>

#include "equations/fusion.h"
#include "support/union_find.h"

namespace heddle::equations {

// An axis of one equation that is not reduced, with its extents.
struct AxisSlot {
    AxisId axis = no_id;
    Size extent = 1;
    double hint = 1;       // at the size class's representative: costs look at this one
    double least = 1;      // at the class's least sizes
    bool ordered = false;  // of a scan: never common
};

// One digit of what a reader reads of a producer: the producer's axis there is the reader's own axis, or is broken
// (-1).
struct AxisLink {
    int32_t producer = -1;       // node
    int32_t producer_slot = -1;  // of FusionGraph::slots
    int32_t reader_slot = -1;
};

// What a node reads.
struct NodeRead {
    TensorIndex tensor = no_id;
    double bytes = 0;             // at most, at the representative
    std::vector<int32_t> slots;   // of the reader, that occur in the coordinates
    std::vector<int32_t> makers;  // nodes
    bool guarded = false;
    bool constant = false;        // or made of constants alone
};

// One equation, or an opaque operation's tensor (equation = -1), with everything that costs and rules ask for.
struct FusionNode {
    int32_t equation = -1;
    int32_t scan = -1;
    TensorIndex tensor = no_id;
    bool prepared = false, output = false, reduction = false, contraction = false, expensive = false;
    bool in_parts = false;
    bool stored = false;   // asked for: no reader is in its kernel
    bool scatter = false;  // its axes that data choose have no slots: the tasks of a kernel may not part them
    int32_t into = -1;     // of a scatter: the node whose elements its terms go to (scatter_into), if there is one
    int32_t joins = -1;    // of such a node: the scatter; in one kernel they are one, and `chosen` are never common
    std::vector<int32_t> chosen;  // slots
    double operations = 0;        // at a point
    double points = 1;            // with reduced axes
    double elements = 1;          // without
    double bytes = 0;             // of what it makes, or of the steps of it that are kept
    int32_t first_slot = 0, slot_count = 0;
    std::vector<int32_t> rows, columns;  // slots, of a contraction
    std::vector<NodeRead> reads;
    std::vector<int32_t> sources, readers;  // nodes, each once
    std::vector<int32_t> siblings;          // nodes: streams of inputs alone, of equal axes, that read the same
    std::vector<AxisLink> links;
    int32_t due = at_the_end;  // the first message that needs it
    int32_t awaits = -1;       // the last message that it needs

    static constexpr int32_t at_the_end = INT32_MAX;
    double work() const { return points * (operations + (reduction ? 1 : 0)); }
};

// The live equations of a system, in order, with what fusion needs to know of them.
struct FusionGraph {
    std::vector<FusionNode> nodes;  // producers before readers
    std::vector<AxisSlot> slots;
    std::vector<double> tensor_bytes;          // by TensorIndex
    std::vector<double> most_bytes;            // the same, at the greatest sizes of the classes
    std::vector<std::vector<int32_t>> makers;  // by TensorIndex: nodes

    explicit FusionGraph(const System& system);
    const FusionNode& node(int32_t index) const { return nodes[static_cast<size_t>(index)]; }
};

// Works out T for one set of nodes after another; keeps its memory between them.
class CommonAxesFinder {
public:
    explicit CommonAxesFinder(const FusionGraph& graph);

    // `members` in order. Afterwards the questions below speak of this set.
    void find(const std::vector<int32_t>& members);
    bool is_member(int32_t node) const { return stamp_[static_cast<size_t>(node)] == generation_; }
    bool is_light(int32_t node) const { return light_[static_cast<size_t>(node)]; }
    // Written to a buffer: an output, or read outside of the set.
    bool is_output(int32_t node) const { return output_[static_cast<size_t>(node)]; }
    bool is_common(int32_t slot) const;
    int32_t class_of(int32_t slot) const { return classes_.root(slot); }
    double tasks() const { return tasks_; }
    double least_tasks() const { return least_tasks_; }  // at the least sizes of the classes

private:
    void mark_members(const std::vector<int32_t>& members);
    void join_classes(const std::vector<int32_t>& members);
    void join_siblings(const std::vector<int32_t>& members);
    void count_classes(const std::vector<int32_t>& members);

    const FusionGraph& graph_;
    int generation_ = 0;
    std::vector<int> stamp_;                   // by node
    std::vector<char> light_, output_;         // by node
    UnionFind<> classes_;                      // of slots
    std::vector<char> broken_class_, common_;  // by slot that is a root
    std::vector<int32_t> last_node_, have_;    // by root
    double tasks_ = 1, least_tasks_ = 1;
};

struct CommonAxes {
    std::vector<Kernel::CommonAxis> axes;  // outermost first
    std::set<int32_t> light;               // equations
};
// Of a set of nodes, in order.
CommonAxes common_axes(const FusionGraph& graph, CommonAxesFinder& finder, const std::vector<int32_t>& members);

}  // namespace heddle::equations
