// What a cut of an operation costs: the seconds of each place's part, and the bytes that go between places for it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "placement/devices.h"
#include "sharding/shard.h"

namespace heddle::placement {

// Places as a grid: place number p has in each dimension one coordinate, the last dimension's runs fastest.
using Mesh = std::vector<int64_t>;
int64_t places_of(const Mesh& mesh);

// For each dimension of a mesh the axis that it cuts, by its number among axes_of; -1: none, and what differs only in this
// dimension computes the same.
using AxesOfMesh = std::vector<int32_t>;

// Parts of ceil(extent / count) points, as boxes_by. Codes: those of boxes_by.
Result<sharding::Cut> cut_by(const Operation& operation, const std::vector<sharding::Axis>& axes, const Mesh& mesh,
                             const AxesOfMesh& cut);

// One operation's cut alone.
struct CutCost {
    std::vector<sharding::Touched> touched;  // of the graph's tensors; what is new for it has numbers behind those
    std::vector<int64_t> element_bytes;      // of those new tensors
    std::vector<double> seconds;             // by place, of all its work (costs.h)
};
// Codes: those of sharding::place.
Result<CutCost> cost_of_cut(const Graph& graph, OperationId operation, const sharding::Cut& cut, const System& system);

// Bytes and messages that go between places while operations of a graph run one after another.
class Traffic {
public:
    // Inputs and constants are everywhere.
    Traffic(const Graph& graph, size_t places);

    struct Sent {
        std::vector<int64_t> out, in;  // bytes by place
        int64_t bytes = 0;
        int32_t rounds = 0;  // after one another: partial results, then shares of what they become
    };
    // What the places then have follows.
    Sent apply(const CutCost& cut);
    // All of a tensor, for a reader.
    Sent gather(TensorId tensor, sharding::PlaceId reader);

private:
    void read(TensorId own, int64_t element, const Box& box, sharding::PlaceId place, Sent& sent);

    const Graph& graph_;
    size_t places_;
    std::vector<bool> given_;
    sharding::Pieces pieces_;
    int32_t next_;  // numbers of tensors that operations make for themselves begin here
};

// latency for each round + the most bytes that one place sends or receives / bandwidth.
double seconds(const Traffic::Sent& sent, double bandwidth, double latency);

}  // namespace heddle::placement
