// What a cut of an operation costs: the seconds of each place's part, and the bytes that go between places for it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "placing/devices.h"
#include "placing/fused_costs.h"
#include "sharding/shard.h"

namespace heddle::placing {

// Places as a grid: place number p has in each dimension one coordinate, the last dimension's runs fastest.
using Mesh = std::vector<int64_t>;
int64_t place_count(const Mesh& mesh);
std::vector<int64_t> coordinates_of(int64_t place, const Mesh& mesh);
int64_t place_at(const std::vector<int64_t>& coordinates, const Mesh& mesh);

// For each dimension of a mesh the axis that it cuts, by its number among axes_of; -1: none, and what differs only in this
// dimension computes the same; only_at(c): none, and places of another coordinate than c compute nothing.
using AxesOfMesh = std::vector<int32_t>;
constexpr int32_t only_at(int32_t coordinate) { return -2 - coordinate; }

// An axis whose parts, within each place's, are taken one after another (sharding::Cut::turns).
struct Turns {
    int32_t axis = -1;  // none: all at once
    int64_t count = 1;
};

// Parts of ceil(extent / count) points, as boxes_by. Codes: those of boxes_by.
Result<sharding::Cut> cut_by(const Operation& operation, const std::vector<sharding::Axis>& axes, const Mesh& mesh,
                             const AxesOfMesh& cut, const Turns& turns = {});

// The tensors of an operation, each once: those that it reads, then those that it makes.
std::vector<TensorId> tensors_of(const Operation& operation);
// The operation with its tensors as inputs and outputs, numbered as in tensors_of.
Graph alone(const Graph& graph, const Operation& operation);

// One operation's cut alone.
struct CutCost {
    std::vector<sharding::Touched> touched;  // tensors numbered as in tensors_of, then those that are new for the cut
    std::vector<int64_t> element_bytes;      // of all of these
    std::vector<double> seconds;             // by place, of all its work (fused_costs.h)
    std::vector<int64_t> launches;           // by place
};
// Adds the bytes of boxes, of tensors that are numbered so, as far as they lie in memory.
void add_bytes(const std::vector<std::pair<TensorId, Box>>& boxes, const std::vector<int64_t>& element_bytes,
               const InProgram& in, OperationWork& work);
// Codes: those of sharding::place.
Result<CutCost> cost_of_cut(const Graph& graph, OperationId operation, const sharding::Cut& cut, const InProgram& in,
                            const System& system);

}  // namespace heddle::placing
