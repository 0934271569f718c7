#include "sharding/unread.h"

#include <algorithm>

namespace heddle::sharding {

void drop_unread(PlacedGraph& placed) {
    Graph& graph = placed.graph;
    std::vector<bool> read(graph.tensors.size(), false), kept(graph.operations.size(), false);
    for (TensorId output : graph.outputs) read[output] = true;
    for (size_t o = graph.operations.size(); o-- > 0;) {
        const Operation& operation = graph.operations[o];
        kept[o] = std::ranges::any_of(operation.outputs, [&](TensorId t) { return read[t]; });
        if (!kept[o]) continue;
        for (TensorId input : operation.inputs) read[input] = true;
    }
    std::vector<Operation> operations = std::move(graph.operations);
    std::vector<PlaceId> places = std::move(placed.places);
    std::vector<int32_t> turns = std::move(placed.turns);
    graph.operations.clear();
    placed.places.clear();
    placed.turns.clear();
    for (Tensor& tensor : graph.tensors) tensor.producer = no_id;
    for (size_t o = 0; o < operations.size(); o++) {
        if (!kept[o]) continue;
        graph.add_operation(std::move(operations[o]));
        placed.places.push_back(places[o]);
        placed.turns.push_back(turns[o]);
    }
    std::erase_if(placed.slices, [&](const auto& slice) { return graph.tensor(slice.first).producer == no_id; });
}

}  // namespace heddle::sharding
