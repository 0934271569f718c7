#include "placement/cut_costs.h"

#include <algorithm>

#include "placement/costs.h"

namespace heddle::placement {

using sharding::PlaceId;
using sharding::Touched;

int64_t places_of(const Mesh& mesh) {
    int64_t places = 1;
    for (int64_t count : mesh) places *= count;
    return places;
}

Result<sharding::Cut> cut_by(const Operation& operation, const std::vector<sharding::Axis>& axes, const Mesh& mesh,
                             const AxesOfMesh& cut) {
    std::vector<std::pair<std::string, int64_t>> parts;  // by axis, in the axes' order
    for (size_t axis = 0; axis < axes.size(); axis++) {
        int64_t count = 1;
        for (size_t d = 0; d < mesh.size(); d++)
            if (cut[d] == static_cast<int32_t>(axis)) count *= mesh[d];
        if (count > 1) parts.emplace_back(axes[axis].name, count);
    }
    auto boxes = sharding::boxes_by(operation, axes, parts);
    if (!boxes) return fail(std::move(boxes.error()));
    sharding::Cut made{.boxes = std::move(*boxes), .places = {}};
    made.places.resize(made.boxes.size());
    for (int64_t place = 0; place < places_of(mesh); place++) {
        // The part of each axis that this place's coordinates say, then the box of these parts.
        std::vector<int64_t> part(axes.size(), 0), count(axes.size(), 1);
        int64_t rest = place, inner = places_of(mesh);
        for (size_t d = 0; d < mesh.size(); d++) {
            inner /= mesh[d];
            const int64_t coordinate = rest / inner;
            rest %= inner;
            if (cut[d] < 0) continue;
            const auto axis = static_cast<size_t>(cut[d]);
            part[axis] = part[axis] * mesh[d] + coordinate;
            count[axis] *= mesh[d];
        }
        size_t box = 0;
        for (size_t axis = 0; axis < axes.size(); axis++)
            box = box * static_cast<size_t>(count[axis]) + static_cast<size_t>(part[axis]);
        made.places[box].push_back(PlaceId(place));
    }
    return made;
}

std::vector<TensorId> tensors_of(const Operation& operation) {
    std::vector<TensorId> list;
    for (const auto* tensors : {&operation.inputs, &operation.outputs})
        for (TensorId t : *tensors)
            if (std::ranges::find(list, t) == list.end()) list.push_back(t);
    return list;
}

namespace {

// The operation with its tensors as inputs and outputs, numbered as in tensors_of.
Graph alone(const Graph& graph, const Operation& operation) {
    Graph own;
    const std::vector<TensorId> numbers = tensors_of(operation);
    std::map<TensorId, TensorId> known;
    for (TensorId t : numbers) known[t] = own.add_tensor(graph.tensor(t).name, TensorType(graph.tensor(t).type));
    Operation copy = operation;
    for (TensorId& t : copy.inputs) t = known[t];
    for (TensorId& t : copy.outputs) t = known[t];
    for (TensorId t : numbers)
        if (std::ranges::find(operation.outputs, t) == operation.outputs.end()) own.inputs.push_back(known[t]);
    own.add_operation(std::move(copy));
    return own;
}

}  // namespace

Result<CutCost> cost_of_cut(const Graph& graph, OperationId operation, const sharding::Cut& cut, const System& system) {
    auto placed = sharding::place(alone(graph, graph.operation(operation)), {cut}, {});
    if (!placed) return fail(std::move(placed.error()));
    const size_t places = system.devices.size();
    CutCost cost{.touched = std::move(placed->touched),
                 .element_bytes = {},
                 .seconds = std::vector<double>(places),
                 .launches = std::vector<int64_t>(places)};
    for (const Tensor& tensor : placed->graph.tensors) cost.element_bytes.push_back(bytes(tensor.type.dtype));
    const auto work = work_of(placed->graph);
    for (size_t o = 0; o < work.size(); o++) {
        if (placed->slices.contains(placed->graph.operations[o].outputs[0])) continue;
        cost.seconds[placed->places[o]] += seconds(work[o], *system.devices[placed->places[o]].target);
        cost.launches[placed->places[o]]++;
    }
    return cost;
}

}  // namespace heddle::placement
