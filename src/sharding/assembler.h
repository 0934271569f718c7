// Puts work into a graph as operations that touch only regions: each input region is a tensor of its own, copied from
// the whole one, and each part of an output too, copied to its place.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "sharding/body_copy.h"
#include "sharding/regions.h"

namespace heddle::sharding {

// What one application touches of a tensor.
struct Region {
    TensorId tensor = no_id;
    Box box;
    std::optional<int64_t> unread = 0;  // elements of the box that it does not need; nothing: not counted
};

// A body over whole tensors of the graph.
struct Work {
    std::string name, operator_name;
    Body body;
    std::vector<TensorId> inputs, outputs;
    std::map<std::string, std::string> params;
};

struct Placed {
    OperationId operation = no_id;
    std::vector<Region> inputs, outputs;
};

class Assembler {
public:
    // Operations are added to `graph`, whose tensors are all there already.
    explicit Assembler(Graph& graph) : graph_(graph) {}

    // As it is, with its projections derived.
    OperationId add(Work work);
    // Equations without points are left out, if anything else is written.
    Placed add_in_regions(Work work);
    // Of an operation without a body: what its projections say of a box of its index, and of a part of each of its
    // folds.
    Placed add_opaque(const Operation& operation, const std::string& name, const Box& index,
                      const std::vector<Range>& folds, const std::vector<TensorId>& outputs);
    // An operation of the original graph.
    void add_as_it_is(Operation operation);

    Graph& graph() { return graph_; }

private:
    OperationId add_operation(Operation operation);
    TensorId region_of(TensorId tensor, const Box& box);
    TensorId piece_of(TensorId tensor, const Box& box);
    void place(TensorId piece, TensorId tensor, const Box& box);
    void copy_box(TensorId from, TensorId to, const Box& box, bool into);

    Graph& graph_;
    std::set<std::string> names_;
    std::map<std::pair<TensorId, Box>, TensorId> regions_;
};

}  // namespace heddle::sharding
