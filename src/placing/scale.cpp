#include "placing/scale.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "graph/verify.h"
#include "evaluate/work.h"
#include "placing/layouts.h"

namespace heddle::placing {
namespace {

using Touch = std::pair<TensorId, Box>;

// What a box of an operation's index does, in stages: each one gives results, or partial results that a combining makes one.
// Tensors are numbered as in tensors_of, then those that are new.
struct BoxWork {
    struct Stage {
        std::vector<Touch> reads, makes;
        OperationWork work;  // in memory
        int64_t kernels = 0;
    };
    struct Combining {
        TensorId result;
        std::vector<size_t> axes;   // whose parts become one
        std::set<size_t> kept;      // cut axes of which each part has a result of its own
        Box range;                  // that the box gives a part of, in the order of the partial result's dimensions
        Body body;                  // of the combining of all
        int64_t partial_bytes = 0;  // of an element, in all tensors of partial results
        double operations = 0;      // for an element of a part
    };
    std::vector<Stage> stages;
    std::vector<Combining> combinings;  // behind the stage of the same number
    std::vector<int64_t> element_bytes;
};

// Where a combining of this body writes what the range of its variables says. Coordinates grow with variables.
Box written_by(Body body, const Box& range) {
    const VariableList& variables = body.equations.front().variables;
    const auto ends = [&](const Corner& extents) {
        for (size_t i = 0; i < variables.size(); i++)
            body.variables[static_cast<size_t>(variables[i].number())].extent = extents[i];
        return written_boxes(body).front().box.end;
    };
    Corner first = range.start;
    for (Size& extent : first) extent = extent + 1;
    Box box{ends(first), ends(range.end)};
    for (Size& coordinate : box.start) coordinate = coordinate - 1;
    return box;
}

Result<BoxWork> work_of_box(const Graph& own, const std::vector<sharding::Axis>& axes, const InProgram& in,
                            const Box& box) {
    // The parts before and behind are one box each: however many there are, this one does the same.
    std::vector<Box> boxes(1);
    std::vector<bool> is_cut;
    for (size_t axis = 0; axis < axes.size(); axis++) {
        const int64_t begin = box.start[axis], end = box.end[axis], extent = axes[axis].extent.value();
        is_cut.push_back(begin > 0 || end < extent);
        std::vector<Box> longer;
        for (const Box& before : boxes) {
            for (const auto& [from, to] : {std::pair(int64_t{0}, begin), {begin, end}, {end, extent}}) {
                if (from == to && extent > 0) continue;
                if (extent == 0 && !longer.empty()) continue;
                longer.push_back(before);
                longer.back().start.push_back(from);
                longer.back().end.push_back(to);
            }
        }
        boxes = std::move(longer);
    }
    auto sharded = sharding::shard(own, OperationId(0), boxes);
    if (!sharded) return fail(std::move(sharded.error()));
    const Graph& graph = sharded->graph;
    BoxWork made;
    for (const Tensor& tensor : graph.tensors) made.element_bytes.push_back(bytes(tensor.type.dtype));
    made.stages.resize(sharded->combinations.size() + 1);
    std::vector<const sharding::Application*> of_stage(made.stages.size());
    for (const sharding::Application& application : sharded->applications) {
        if (!contains(application.index, box)) continue;
        of_stage[application.stage] = &application;
        BoxWork::Stage& stage = made.stages[application.stage];
        for (const sharding::Region& region : application.inputs) stage.reads.emplace_back(region.tensor, region.box);
        for (const sharding::Region& region : application.outputs) stage.makes.emplace_back(region.tensor, region.box);
        stage.work.operations += scalar_operations(*graph.operation(application.operation).body);
        add_bytes(stage.reads, made.element_bytes, in, stage.work);
        add_bytes(stage.makes, made.element_bytes, in, stage.work);
        stage.kernels++;
    }
    for (size_t c = 0; c < sharded->combinations.size(); c++) {
        const sharding::Combination& combination = sharded->combinations[c];
        BoxWork::Combining& own_part = made.combinings.emplace_back();
        own_part.result = combination.result;
        own_part.axes = combination.axes;
        for (size_t axis = 0; axis < axes.size() && of_stage[c]; axis++) {
            const Box& index = of_stage[c]->index;
            const bool whole = index.start[axis] == 0 && index.end[axis] == axes[axis].extent.value();
            if (is_cut[axis] && !whole && std::ranges::count(combination.axes, axis) == 0) own_part.kept.insert(axis);
        }
        if (made.stages[c].makes.empty()) {
            return fail({.code = "placing.scale",
                         .summary = fmt::format("which partial results of '{}' a place makes is not known",
                                                own.operations[0].name),
                         .remedy = "cut another axis of it"});
        }
        const Box stack = made.stages[c].makes.front().second;
        for (size_t d = combination.axes.size(); d < stack.rank(); d++) {
            own_part.range.start.push_back(stack.start[d]);
            own_part.range.end.push_back(stack.end[d]);
        }
        own_part.body = *graph.operation(combination.operation).body;
        for (TensorId t : combination.partial) own_part.partial_bytes += made.element_bytes[t];
        const double elements =
            static_cast<double>(int64_t{Box::whole(graph.tensor(combination.partial.front()).type.shape).volume()});
        own_part.operations = elements > 0 ? scalar_operations(own_part.body) / elements : 0;
    }
    return made;
}

// Boxes of tensors at one place.
class Holding {
public:
    // Elements that are not there; from then on they are.
    int64_t fetch(TensorId tensor, const Box& box) {
        if (box.is_empty()) return 0;
        std::vector<Box> missing = {box};
        for (const Box& held : boxes_[tensor]) {
            std::vector<Box> rest;
            for (const Box& part : missing) {
                const Box common = intersection(part, held);
                if (common.is_empty())
                    rest.push_back(part);
                else
                    std::ranges::move(difference(part, common), std::back_inserter(rest));
            }
            missing = std::move(rest);
        }
        int64_t elements = 0;
        for (const Box& part : missing) elements += part.volume();
        if (elements > 0) add(tensor, box);
        return elements;
    }

    // One that holds others takes their place.
    void add(TensorId tensor, const Box& box) {
        auto& list = boxes_[tensor];
        if (box.is_empty() || std::ranges::any_of(list, [&](const Box& held) { return contains(held, box); })) return;
        std::erase_if(list, [&](const Box& held) { return contains(box, held); });
        list.push_back(box);
    }

    void forget(TensorId tensor) { boxes_.erase(tensor); }
    int64_t elements(TensorId tensor) const {
        int64_t elements = 0;
        if (const auto found = boxes_.find(tensor); found != boxes_.end())
            for (const Box& box : found->second) elements += box.volume();
        return elements;
    }
    const std::map<TensorId, std::vector<Box>>& all() const { return boxes_; }

private:
    std::map<TensorId, std::vector<Box>> boxes_;
};

// A place, and how many it stands for.
struct Standing {
    std::vector<int64_t> coordinates;
    int64_t count = 1;
    Holding made, given;  // tensors of the graph
    int64_t peak = 0, received = 0;
};

std::vector<Standing> standing_of(const Mesh& mesh) {
    std::vector<Standing> all(1);
    for (const int64_t places : mesh) {
        std::vector<std::pair<int64_t, int64_t>> along;
        if (places <= 4)
            for (int64_t c = 0; c < places; c++) along.emplace_back(c, 1);
        else
            along = {{0, 1}, {places / 2, places - 2}, {places - 1, 1}};
        std::vector<Standing> longer;
        for (const Standing& before : all) {
            for (const auto& [coordinate, count] : along) {
                longer.push_back(before);
                longer.back().coordinates.push_back(coordinate);
                longer.back().count *= count;
            }
        }
        all = std::move(longer);
    }
    return all;
}

class AtScale {
public:
    AtScale(const Graph& graph, const OperationKinds& kinds, const Mesh& mesh, const Target& place,
            const LinkFigures& links)
        : graph_(graph), kinds_(kinds), mesh_(mesh), place_(place), links_(links), places_(standing_of(mesh)) {
        given_.assign(graph.tensors.size(), false);
        last_read_.assign(graph.tensors.size(), -1);
        for (size_t t = 0; t < graph.tensors.size(); t++)
            given_[t] = graph.tensors[t].constant && graph.tensors[t].producer == no_id;
        for (TensorId t : graph.inputs) given_[t] = true;
        for (size_t o = 0; o < graph.operations.size(); o++)
            for (TensorId t : tensors_of(graph.operations[o])) last_read_[t] = static_cast<int32_t>(o);
        for (TensorId t : graph.outputs) last_read_[t] = static_cast<int32_t>(graph.operations.size());
    }

    Result<ScaleCosts> run(const std::vector<AxesOfMesh>& cuts) {
        for (size_t o = 0; o < graph_.operations.size(); o++)
            if (auto done = step(OperationId(o), cuts[o]); !done) return fail(std::move(done.error()));
        for (Standing& place : places_) {
            int64_t peak = place.peak;
            for (const auto& [tensor, boxes] : place.given.all())
                peak += place.given.elements(tensor) * element(tensor);
            costs_.peak_bytes = std::max(costs_.peak_bytes, peak);
            costs_.most_bytes = std::max(costs_.most_bytes, place.received);
        }
        costs_.most_bytes = std::max(costs_.most_bytes, costs_.bytes / place_count(mesh_));
        gather();
        return costs_;
    }

private:
    int64_t element(TensorId t) const { return bytes(graph_.tensor(t).type.dtype); }

    // How an operation is cut: of each axis how long parts are, and how many are not empty.
    struct Parts {
        AxesOfMesh axes;
        std::vector<int64_t> length, count;
        const std::vector<sharding::Axis>* of = nullptr;
    };

    Result<Parts> parts_of(OperationId id, const AxesOfMesh& cut) const {
        Parts parts{cut, {}, {}, &kinds_.kind(id).axes};
        std::vector<int64_t> counts(parts.of->size(), 1);
        for (size_t d = 0; d < mesh_.size(); d++)
            if (cut[d] >= 0) counts[static_cast<size_t>(cut[d])] *= mesh_[d];
        for (size_t axis = 0; axis < counts.size(); axis++) {
            const sharding::Axis& of = (*parts.of)[axis];
            const int64_t extent = of.extent.value();
            if (counts[axis] > 1 && of.fold) {
                return fail(
                    {.code = "placing.scale",
                     .summary = fmt::format("'{}' is cut along '{}', whose parts are combined by another operator",
                                            graph_.operation(id).name, of.name),
                     .expected = "cuts whose partial results a reducer of the body combines"});
            }
            parts.length.push_back(std::max<int64_t>(1, (extent + counts[axis] - 1) / counts[axis]));
            parts.count.push_back(extent == 0 ? 1 : (extent + parts.length[axis] - 1) / parts.length[axis]);
        }
        return parts;
    }

    std::vector<int64_t> part_numbers(const Parts& parts, const Standing& place) const {
        std::vector<int64_t> numbers(parts.of->size(), 0);
        for (size_t d = 0; d < mesh_.size(); d++)
            if (parts.axes[d] >= 0) {
                int64_t& number = numbers[static_cast<size_t>(parts.axes[d])];
                number = number * mesh_[d] + place.coordinates[d];
            }
        return numbers;
    }

    // Nothing: the place has nothing to do.
    std::optional<Box> box_of(const Parts& parts, const std::vector<int64_t>& numbers) const {
        Box box;
        for (size_t axis = 0; axis < numbers.size(); axis++) {
            if (numbers[axis] >= parts.count[axis]) return std::nullopt;
            const int64_t extent = (*parts.of)[axis].extent.value(), begin = numbers[axis] * parts.length[axis];
            box.start.push_back(begin);
            box.end.push_back(std::min(extent, begin + parts.length[axis]));
        }
        return box;
    }

    Result<const BoxWork*> work_of(OperationId id, const Box& box) {
        const auto known = known_.find({kinds_.of[id], box});
        if (known != known_.end()) return &known->second;
        const OperationKind& kind = kinds_.kind(id);
        auto made = work_of_box(alone(graph_, graph_.operation(kind.first)), kind.axes, kind.in, box);
        if (!made) return fail(std::move(made.error()));
        return &known_.emplace(std::pair(kinds_.of[id], box), std::move(*made)).first->second;
    }

    // How many places combine the same, and the number of this one among them: along axes first, then along what differs in none.
    std::pair<int64_t, int64_t> group_of(const BoxWork::Combining& combining, const Parts& parts,
                                         const std::vector<int64_t>& numbers, const Standing& place) const {
        int64_t size = 1, rank = 0;
        for (size_t axis = 0; axis < numbers.size(); axis++) {
            if (combining.kept.contains(axis)) continue;
            size *= parts.count[axis];
            rank = rank * parts.count[axis] + numbers[axis];
        }
        for (size_t d = 0; d < mesh_.size(); d++) {
            if (parts.axes[d] >= 0) continue;
            size *= mesh_[d];
            rank = rank * mesh_[d] + place.coordinates[d];
        }
        return {size, rank};
    }

    // As the sharder's shares_of: all of it, or one of as many parts of the longest dimension as there are places.
    Box share_of(const BoxWork::Combining& combining, int64_t element_bytes, int64_t size, int64_t rank) const {
        Box share = combining.range;
        const double count = static_cast<double>(size);
        const double more = static_cast<double>(element_bytes * share.volume()) * (count - 1) * (1 - 2 / count);
        if (share.rank() == 0 || more <= links_.latency * links_.bandwidth) return share;
        size_t longest = 0;
        for (size_t d = 1; d < share.rank(); d++)
            if (int64_t{share.extent(d)} > int64_t{share.extent(longest)}) longest = d;
        const int64_t begin = share.start[longest], end = share.end[longest], length = (end - begin + size - 1) / size;
        share.start[longest] = std::min(end, begin + rank * length);
        share.end[longest] = std::min(end, begin + (rank + 1) * length);
        return share;
    }

    struct Spent {
        double seconds = 0;
        int64_t received = 0;
        int32_t rounds = 0;
        double assembling = 0;
    };

    void note_made(TensorId tensor, const Box& box) {
        Box& largest = largest_made_.try_emplace(tensor, box).first->second;
        if (int64_t{box.volume()} > int64_t{largest.volume()}) largest = box;
    }

    // Of how many pieces a box is put together, if all are as large as the largest one.
    int64_t pieces_of(TensorId tensor, const Box& box) const {
        int64_t count = 1;
        for (size_t d = 0; d < box.rank(); d++)
            count *=
                (int64_t{box.extent(d)} - 1) / std::max<int64_t>(1, int64_t{largest_made_.at(tensor).extent(d)}) + 1;
        return count;
    }

    Result<Spent> part(OperationId id, const Parts& parts, Standing& place) {
        Spent spent;
        const std::vector<int64_t> numbers = part_numbers(parts, place);
        const auto box = box_of(parts, numbers);
        if (!box) return spent;
        const auto found = work_of(id, *box);
        if (!found) return fail(found.error());
        const BoxWork& work = **found;
        const std::vector<TensorId> tensors = tensors_of(graph_.operation(id));
        Holding inner;
        std::map<TensorId, int32_t> behind;
        std::map<TensorId, double> shares;  // elements of the share of a combined result
        OperationWork all;
        double kernels = 0;
        const auto holding = [&](TensorId t) -> std::pair<Holding&, TensorId> {
            const auto number = static_cast<size_t>(t.number());
            if (number >= tensors.size()) return {inner, t};
            return {given_[tensors[number]] ? place.given : place.made, tensors[number]};
        };
        for (size_t s = 0; s < work.stages.size(); s++) {
            const BoxWork::Stage& stage = work.stages[s];
            int32_t round = 0;
            for (const auto& [tensor, region] : stage.reads) {
                const auto [there, name] = holding(tensor);
                const int64_t missing = there.fetch(name, region) * work.element_bytes[tensor];
                if (&there == &place.given) continue;
                round = std::max(round, behind[tensor] + (missing > 0));
                spent.received += missing;
                if (&there == &place.made && missing > 0) {
                    const int64_t volume = region.volume(), pieces = pieces_of(name, region);
                    if (pieces > 1)
                        spent.assembling += assembling_seconds(static_cast<double>(volume * work.element_bytes[tensor]),
                                                               static_cast<double>(pieces), place_);
                }
                if (const auto share = shares.find(tensor); share != shares.end() && missing > 0) {
                    const auto copied = static_cast<double>(int64_t{region.volume()});
                    all.operations += 2 * copied;
                    all.bytes += 2 * copied * static_cast<double>(work.element_bytes[tensor]);
                    kernels += copied / share->second;
                }
            }
            all.operations += stage.work.operations;
            all.bytes += stage.work.bytes;
            all.streamed += stage.work.streamed;
            kernels += static_cast<double>(stage.kernels);
            for (const auto& [tensor, region] : stage.makes) {
                const auto [there, name] = holding(tensor);
                there.add(name, region);
                if (&there == &place.made) note_made(name, region);
                behind[tensor] = round;
            }
            if (s < work.combinings.size()) {
                const BoxWork::Combining& combining = work.combinings[s];
                const auto [size, rank] = group_of(combining, parts, numbers, place);
                const int64_t result_bytes = work.element_bytes[combining.result];
                const Box share = share_of(combining, result_bytes, size, rank);
                if (!share.is_empty()) {
                    int64_t count = 1;
                    for (const size_t axis : combining.axes) count *= parts.count[axis];
                    const int64_t received = (count - 1) * int64_t{share.volume()} * combining.partial_bytes;
                    spent.received += received;
                    round += received > 0;
                    const auto elements = static_cast<double>(count * int64_t{share.volume()});
                    all.operations += combining.operations * elements;
                    all.bytes += elements * static_cast<double>(combining.partial_bytes) +
                                 static_cast<double>(share.volume() * result_bytes);
                    const auto [there, name] = holding(combining.result);
                    const Box written = written_by(combining.body, share);
                    there.add(name, written);
                    if (&there == &place.made) note_made(name, written);
                    // Parts are cut into shares where they are made, and put side by side where they are combined.
                    const bool shared = !(share == combining.range);
                    const auto copied = static_cast<double>(int64_t{share.volume()});
                    const auto copies = static_cast<double>(shared ? 2 * count - 1 : count);
                    all.operations += copies * 2 * copied;
                    all.bytes += copies * 2 * copied * static_cast<double>(combining.partial_bytes);
                    kernels += 1 + copies;
                    if (shared) shares[combining.result] = copied;
                    partial_bytes_ = std::max(partial_bytes_, received);
                }
                behind[combining.result] = round;
            }
            spent.rounds = std::max(spent.rounds, round);
        }
        spent.seconds = seconds(all, place_, kinds_.kind(id).in, kernels - 1);
        int64_t held = partial_bytes_;
        partial_bytes_ = 0;
        for (const auto& [tensor, boxes] : inner.all()) held += inner.elements(tensor) * work.element_bytes[tensor];
        for (const auto& [tensor, boxes] : place.made.all()) held += place.made.elements(tensor) * element(tensor);
        place.peak = std::max(place.peak, held);
        place.received += spent.received;
        return spent;
    }

    Result<void> step(OperationId id, const AxesOfMesh& cut) {
        const auto parts = parts_of(id, cut);
        if (!parts) return fail(parts.error());
        Spent most;
        int64_t all = 0;
        for (Standing& place : places_) {
            const auto spent = part(id, *parts, place);
            if (!spent) return fail(spent.error());
            most.seconds = std::max(most.seconds, spent->seconds);
            most.received = std::max(most.received, spent->received);
            most.rounds = std::max(most.rounds, spent->rounds);
            most.assembling = std::max(most.assembling, spent->assembling);
            all += spent->received * place.count;
            for (TensorId t : tensors_of(graph_.operation(id)))
                if (last_read_[t] == id.number()) place.made.forget(t);
        }
        costs_.compute_seconds += most.seconds;
        costs_.bytes += all;
        if (most.received > 0)
            costs_.send_seconds +=
                links_.latency * most.rounds +
                static_cast<double>(std::max(most.received, all / place_count(mesh_))) / links_.bandwidth +
                most.assembling;
        return {};
    }

    void gather() {
        std::set<TensorId> outputs(graph_.outputs.begin(), graph_.outputs.end());
        for (TensorId t : outputs) {
            if (given_[t]) continue;
            const Box whole = Box::whole(graph_.tensor(t).type.shape);
            const int64_t missing = places_.front().made.fetch(t, whole) * element(t);
            costs_.gathered_bytes += missing;
            if (missing > 0) costs_.gather_seconds += links_.latency + static_cast<double>(missing) / links_.bandwidth;
        }
    }

    const Graph& graph_;
    const OperationKinds& kinds_;
    const Mesh& mesh_;
    const Target& place_;
    const LinkFigures& links_;
    std::vector<Standing> places_;
    std::vector<bool> given_;
    std::vector<int32_t> last_read_;
    std::map<std::pair<int32_t, Box>, BoxWork> known_;
    int64_t partial_bytes_ = 0;  // of others' parts, while they are combined
    std::map<TensorId, Box> largest_made_;  // of the pieces that places make
    ScaleCosts costs_;
};

}  // namespace

Result<ScaleCosts> costs_at_scale(const Graph& graph, const OperationKinds& kinds, const Mesh& mesh,
                                  const std::vector<AxesOfMesh>& cuts, const Target& place, const LinkFigures& links) {
    return AtScale(graph, kinds, mesh, place, links).run(cuts);
}

}  // namespace heddle::placing
