#include "sharding/placed_graph.h"

#include <algorithm>
#include <set>

namespace heddle::sharding {

void give_outputs(const Graph& graph, const std::vector<PlaceId>& readers, const Spreads& spreads, Assembler& assembler,
                  PlacedGraph& placed) {
    assembler.begin(no_id);
    for (PlaceId reader : readers) {
        auto& outputs = placed.outputs.emplace_back();
        for (size_t i = 0; i < graph.outputs.size(); ++i)
            if (!spreads.outputs.contains(i)) outputs.push_back(assembler.whole(graph.outputs[i], reader));
    }
    for (const auto& [number, spread] : spreads.outputs)
        for (const auto& [at, box] : spread)
            placed.kept.emplace_back(at, assembler.exactly(graph.outputs[number], box, at));
    std::set<TensorId> read;
    placed.graph.outputs.clear();
    const auto give = [&](TensorId output) {
        if (read.insert(output).second) placed.graph.outputs.push_back(output);
    };
    for (const auto& outputs : placed.outputs) std::ranges::for_each(outputs, give);
    for (const auto& [at, output] : placed.kept) give(output);
}

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
    std::vector<OperationId> of = std::move(placed.of);
    graph.operations.clear();
    placed.places.clear();
    placed.turns.clear();
    placed.of.clear();
    for (Tensor& tensor : graph.tensors) tensor.producer = no_id;
    std::vector<OperationId> number(operations.size(), no_id);
    for (size_t o = 0; o < operations.size(); o++) {
        if (!kept[o]) continue;
        number[o] = graph.add_operation(std::move(operations[o]));
        placed.places.push_back(places[o]);
        placed.turns.push_back(turns[o]);
        placed.of.push_back(of[o]);
    }
    for (Sharding& sharding : placed.operations) {
        for (Application& application : sharding.applications) application.operation = number[application.operation];
        for (Combination& combination : sharding.combinations)
            if (combination.operation != no_id) combination.operation = number[combination.operation];
    }
    std::erase_if(placed.slices, [&](const auto& slice) { return graph.tensor(slice.first).producer == no_id; });
}

std::vector<Brought> brought_in(const PlacedGraph& placed, const std::map<TensorId, Assembler::Slice>& boxes,
                                const std::vector<PlaceId>& readers) {
    const Graph& graph = placed.graph;
    std::vector<Brought> brought;
    std::set<std::pair<TensorId, PlaceId>> known;
    const auto read = [&](TensorId own, PlaceId to, OperationId reader) {
        const OperationId producer = graph.tensor(own).producer;
        if (producer == no_id || placed.places[producer] == to || !known.emplace(own, to).second) return;
        const Assembler::Slice& of = boxes.at(own);
        brought.push_back({of.of, of.box, own, placed.places[producer], to, reader});
    };
    for (size_t o = 0; o < graph.operations.size(); o++)
        for (TensorId t : graph.operations[o].inputs) read(t, placed.places[o], placed.of[o]);
    for (size_t r = 0; r < readers.size(); r++)
        for (TensorId t : placed.outputs[r]) read(t, readers[r], no_id);
    for (const auto& [at, t] : placed.kept) read(t, at, no_id);
    return brought;
}

}  // namespace heddle::sharding
