#include "placing/cut_costs.h"

#include <algorithm>

#include "evaluate/work.h"

namespace heddle::placing {

using sharding::PlaceId;
using sharding::Touched;

int64_t place_count(const Mesh& mesh) {
    int64_t places = 1;
    for (int64_t count : mesh) places *= count;
    return places;
}

std::vector<int64_t> coordinates_of(int64_t place, const Mesh& mesh) {
    std::vector<int64_t> coordinates(mesh.size());
    for (size_t d = mesh.size(); d-- > 0; place /= mesh[d]) coordinates[d] = place % mesh[d];
    return coordinates;
}

int64_t place_at(const std::vector<int64_t>& coordinates, const Mesh& mesh) {
    int64_t place = 0;
    for (size_t d = 0; d < mesh.size(); d++) place = place * mesh[d] + coordinates[d];
    return place;
}

Result<sharding::Cut> cut_by(const Operation& operation, const std::vector<sharding::Axis>& axes, const Mesh& mesh,
                             const AxesOfMesh& cut, const Turns& turns) {
    // Turns are one more dimension of all, the innermost, which does not change the place.
    Mesh counts = mesh;
    AxesOfMesh of = cut;
    counts.push_back(turns.axis < 0 ? 1 : turns.count);
    of.push_back(turns.axis);
    std::vector<int64_t> parts(axes.size(), 1);
    for (size_t d = 0; d < counts.size(); d++)
        if (of[d] >= 0) parts[static_cast<size_t>(of[d])] *= counts[d];
    std::vector<std::pair<std::string, int64_t>> named;
    for (size_t axis = 0; axis < axes.size(); axis++)
        if (parts[axis] > 1) named.emplace_back(axes[axis].name, parts[axis]);
    auto boxes = sharding::boxes_by(operation, axes, named);
    if (!boxes) return fail(std::move(boxes.error()));
    sharding::Cut made{.boxes = std::move(*boxes), .places = {}};
    made.places.resize(made.boxes.size());
    if (turns.axis >= 0) made.turns.resize(made.boxes.size());
    for (int64_t number = 0; number < place_count(counts); number++) {
        const std::vector<int64_t> at = coordinates_of(number, counts);
        // The part of each axis that these coordinates say, then the box of these parts.
        std::vector<int64_t> part(axes.size(), 0);
        bool computes = true;
        for (size_t d = 0; d < counts.size(); d++) {
            if (of[d] >= 0) part[static_cast<size_t>(of[d])] = part[static_cast<size_t>(of[d])] * counts[d] + at[d];
            computes = computes && (of[d] >= -1 || of[d] == only_at(static_cast<int32_t>(at[d])));
        }
        if (!computes) continue;
        size_t box = 0;
        for (size_t axis = 0; axis < axes.size(); axis++)
            box = box * static_cast<size_t>(parts[axis]) + static_cast<size_t>(part[axis]);
        made.places[box].push_back(PlaceId(number / counts.back()));
        if (turns.axis >= 0) made.turns[box] = static_cast<int32_t>(at.back());
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

void add_bytes(const std::vector<std::pair<TensorId, Box>>& boxes, const std::vector<int64_t>& element_bytes,
               const InProgram& in, OperationWork& work) {
    for (const auto& [tensor, box] : boxes) {
        const Lies lies = in.lies(tensor);
        if (lies == Lies::in_kernels) continue;
        const auto size =
            static_cast<double>(element_bytes[static_cast<size_t>(tensor.number())] * int64_t{box.volume()});
        if (lies == Lies::in_memory) work.bytes += size;
        if (lies == Lies::streamed) work.streamed += size;
        if (lies == Lies::copied) work.streamed += 3 * size;
    }
}

Result<CutCost> cost_of_cut(const Graph& graph, OperationId operation, const sharding::Cut& cut, const InProgram& in,
                            const System& system) {
    auto placed = sharding::place(alone(graph, graph.operation(operation)), {cut}, {});
    if (!placed) return fail(std::move(placed.error()));
    const size_t places = system.devices.size();
    CutCost cost{.touched = std::move(placed->touched),
                 .element_bytes = {},
                 .seconds = std::vector<double>(places),
                 .launches = std::vector<int64_t>(places)};
    for (const Tensor& tensor : placed->graph.tensors) cost.element_bytes.push_back(bytes(tensor.type.dtype));
    std::vector<OperationWork> works(places);
    for (const Touched& touched : cost.touched)
        for (const auto* boxes : {&touched.reads, &touched.makes})
            add_bytes(*boxes, cost.element_bytes, in, works[touched.place]);
    for (size_t o = 0; o < placed->graph.operations.size(); o++) {
        const Operation& part = placed->graph.operations[o];
        if (placed->slices.contains(part.outputs[0])) continue;
        if (part.body) works[placed->places[o]].operations += scalar_operations(*part.body);
        cost.launches[placed->places[o]]++;
    }
    for (size_t p = 0; p < places; p++)
        if (cost.launches[p] > 0)
            cost.seconds[p] =
                seconds(works[p], *system.devices[p].target, in, static_cast<double>(cost.launches[p] - 1));
    return cost;
}

}  // namespace heddle::placing
