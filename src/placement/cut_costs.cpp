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

namespace {

// The operation with its tensors as inputs and outputs; numbers are those of the list that comes with it.
std::pair<Graph, std::vector<TensorId>> alone(const Graph& graph, const Operation& operation) {
    Graph own;
    std::vector<TensorId> numbers;
    std::map<TensorId, TensorId> known;
    const auto own_of = [&](TensorId t) {
        auto [found, fresh] = known.try_emplace(t, TensorId(numbers.size()));
        if (fresh) {
            own.add_tensor(graph.tensor(t).name, TensorType(graph.tensor(t).type));
            numbers.push_back(t);
        }
        return found->second;
    };
    Operation copy = operation;
    for (TensorId& t : copy.inputs) t = own_of(t);
    for (const auto& [from, to] : known) own.inputs.push_back(to);
    for (TensorId& t : copy.outputs) t = own_of(t);
    own.add_operation(std::move(copy));
    return {std::move(own), std::move(numbers)};
}

}  // namespace

Result<CutCost> cost_of_cut(const Graph& graph, OperationId operation, const sharding::Cut& cut, const System& system) {
    const auto [own, numbers] = alone(graph, graph.operation(operation));
    auto placed = sharding::place(own, {cut}, {});
    if (!placed) return fail(std::move(placed.error()));
    CutCost cost{.touched = std::move(placed->touched), .element_bytes = {}, .seconds = {}};
    const auto back = [&](TensorId t) {
        const auto number = static_cast<size_t>(t.number());
        return number < numbers.size() ? numbers[number] : TensorId(graph.tensors.size() + number - numbers.size());
    };
    for (Touched& work : cost.touched) {
        for (auto& [tensor, box] : work.reads) tensor = back(tensor);
        for (auto& [tensor, box] : work.makes) tensor = back(tensor);
    }
    for (size_t t = numbers.size(); t < placed->graph.tensors.size(); t++)
        cost.element_bytes.push_back(bytes(placed->graph.tensors[t].type.dtype));
    cost.seconds.assign(system.devices.size(), 0);
    const auto work = work_of(placed->graph);
    for (size_t o = 0; o < work.size(); o++) {
        const bool slices = placed->slices.contains(placed->graph.operations[o].outputs[0]);
        if (!slices) cost.seconds[placed->places[o]] += seconds(work[o], *system.devices[placed->places[o]].target);
    }
    return cost;
}

Traffic::Traffic(const Graph& graph, size_t places)
    : graph_(graph),
      places_(places),
      given_(graph.tensors.size(), false),
      next_(static_cast<int32_t>(graph.tensors.size())) {
    for (size_t t = 0; t < graph.tensors.size(); t++)
        given_[t] = graph.tensors[t].constant && graph.tensors[t].producer == no_id;
    for (TensorId t : graph.inputs) given_[t] = true;
}

void Traffic::read(TensorId own, int64_t element, const Box& box, PlaceId place, Sent& sent) {
    const auto number = static_cast<size_t>(own.number());
    if ((number < given_.size() && given_[number]) || pieces_.holding(own, box, place)) return;
    for (const auto& [piece, part] : pieces_.sources(own, box, place)) {
        if (piece.place == place) continue;
        const int64_t size = element * part.volume();
        sent.out[piece.place] += size;
        sent.in[place] += size;
        sent.bytes += size;
        pieces_.add(own, {part, place, no_id, part.start});
    }
    pieces_.add(own, {box, place, no_id, box.start});
}

Traffic::Sent Traffic::apply(const CutCost& cut) {
    Sent sent{std::vector<int64_t>(places_), std::vector<int64_t>(places_)};
    const size_t known = given_.size();
    const auto first = TensorId(next_);
    next_ += static_cast<int32_t>(cut.element_bytes.size());
    const auto own_of = [&](TensorId t) {
        const auto number = static_cast<size_t>(t.number());
        return number < known ? t : TensorId(static_cast<size_t>(first.number()) + number - known);
    };
    const auto element = [&](TensorId t) {
        const auto number = static_cast<size_t>(t.number());
        return number < known ? bytes(graph_.tensor(t).type.dtype) : cut.element_bytes[number - known];
    };
    std::map<std::pair<TensorId, PlaceId>, int32_t> behind;  // by which round a place has what the operation makes
    for (const Touched& work : cut.touched) {
        int32_t round = 0;
        for (const auto& [tensor, box] : work.reads) {
            const int64_t before = sent.bytes;
            read(own_of(tensor), element(tensor), box, work.place, sent);
            for (size_t p = 0; p < places_; p++) {
                const auto made = behind.find({tensor, PlaceId(p)});
                if (made != behind.end()) round = std::max(round, made->second);
            }
            if (sent.bytes > before) round++;
        }
        sent.rounds = std::max(sent.rounds, round);
        for (const auto& [tensor, box] : work.makes) {
            behind[{tensor, work.place}] = round;
            pieces_.add(own_of(tensor), {box, work.place, no_id, box.start});
        }
    }
    return sent;
}

Traffic::Sent Traffic::gather(TensorId tensor, PlaceId reader) {
    Sent sent{std::vector<int64_t>(places_), std::vector<int64_t>(places_)};
    const TensorType& type = graph_.tensor(tensor).type;
    read(tensor, bytes(type.dtype), Box::whole(type.shape), reader, sent);
    sent.rounds = sent.bytes > 0;
    return sent;
}

double seconds(const Traffic::Sent& sent, double bandwidth, double latency) {
    int64_t most = 0;
    for (int64_t bytes : sent.out) most = std::max(most, bytes);
    for (int64_t bytes : sent.in) most = std::max(most, bytes);
    return latency * sent.rounds + static_cast<double>(most) / bandwidth;
}

}  // namespace heddle::placement
