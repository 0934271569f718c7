#include "placing/scale.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "placing/box_work.h"
#include "placing/layouts.h"

namespace heddle::placing {
namespace {

using Touch = BoxWork::Touch;

// Boxes of tensors at one place.
class Holding {
public:
    // What is not there of a box; from then on it is.
    std::vector<Box> fetch(TensorId tensor, const Box& box) {
        std::vector<Box> missing = without(box, boxes_[tensor]);
        if (!missing.empty()) add(tensor, box);
        return missing;
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
    const std::vector<Box>& boxes(TensorId tensor) const {
        static const std::vector<Box> none;
        const auto found = boxes_.find(tensor);
        return found == boxes_.end() ? none : found->second;
    }

private:
    std::map<TensorId, std::vector<Box>> boxes_;
};

// A place, and how many it stands for.
struct Standing {
    std::vector<int64_t> coordinates;
    int64_t count = 1;           // 0: it is there for those of its machine
    std::vector<size_t> beside;  // the others of its machine
    Holding made, held, given;   // tensors of the graph: made here, with what was brought, those that are everywhere
    Holding combined;            // by number of the combining, while an operation is looked at
    int64_t peak = 0, received = 0;
};

// Coordinates of one dimension, and of how many each is one. `starts`: from where on others are alike.
std::vector<std::pair<int64_t, int64_t>> standing_along(int64_t places, std::set<int64_t> starts) {
    std::vector<std::pair<int64_t, int64_t>> along;
    if (places <= 4) {
        for (int64_t c = 0; c < places; c++) along.emplace_back(c, 1);
        return along;
    }
    starts.insert({0, 1, places - 1});
    for (auto start = starts.begin(); start != starts.end(); ++start) {
        const int64_t count = (std::next(start) == starts.end() ? places : *std::next(start)) - *start;
        along.emplace_back(*start + count / 2, count);
    }
    return along;
}

// Of all dimensions, each with the others of its machine: so many places, one after another.
std::vector<Standing> standing_of(const Mesh& mesh, const std::vector<std::set<int64_t>>& starts, int64_t machine) {
    std::vector<Standing> all(1);
    for (size_t d = 0; d < mesh.size(); d++) {
        std::vector<Standing> longer;
        for (const Standing& before : all) {
            for (const auto& [coordinate, count] : standing_along(mesh[d], starts[d])) {
                longer.push_back(before);
                longer.back().coordinates.push_back(coordinate);
                longer.back().count *= count;
            }
        }
        all = std::move(longer);
    }
    std::map<int64_t, size_t> known;
    for (size_t i = 0; i < all.size(); i++) known.emplace(place_at(all[i].coordinates, mesh), i);
    const size_t standing = all.size();
    for (size_t i = 0; i < standing && machine > 1; i++) {
        const int64_t own = place_at(all[i].coordinates, mesh), first = own - own % machine;
        for (int64_t p = first; p < std::min(first + machine, place_count(mesh)); p++) {
            const auto [other, fresh] = known.emplace(p, all.size());
            if (fresh) all.push_back({.coordinates = coordinates_of(p, mesh), .count = 0, .beside = {}});
            if (p != own) all[i].beside.push_back(other->second);
        }
    }
    return all;
}

class AtScale {
public:
    AtScale(const Graph& graph, const OperationKinds& kinds, const Mesh& mesh, const Target& place,
            const MachineLinks& links)
        : graph_(graph), kinds_(kinds), mesh_(mesh), place_(place), links_(links) {
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
        std::vector<Parts> parts;
        for (size_t o = 0; o < graph_.operations.size(); o++) {
            auto own = parts_of(OperationId(o), cuts[o]);
            if (!own) return fail(std::move(own.error()));
            parts.push_back(std::move(*own));
        }
        places_ = standing_of(mesh_, starts_of(parts), links_.places);
        for (size_t o = 0; o < parts.size(); o++)
            if (auto done = step(OperationId(o), parts[o]); !done) return fail(std::move(done.error()));
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

    // Of each dimension of the mesh, where the last part of an axis is that is not empty, and the first that is.
    std::vector<std::set<int64_t>> starts_of(const std::vector<Parts>& all) const {
        const size_t most = mesh_.size() > 1 ? 8 : 24;
        std::vector<std::set<int64_t>> starts(mesh_.size());
        for (const Parts& parts : all) {
            std::vector<int64_t> last;
            for (const int64_t count : parts.count) last.push_back(count - 1);
            for (size_t d = mesh_.size(); d-- > 0;) {
                if (parts.axes[d] < 0) continue;
                int64_t& number = last[static_cast<size_t>(parts.axes[d])];
                for (const int64_t start : {number % mesh_[d], number % mesh_[d] + 1})
                    if (start < mesh_[d] && starts[d].size() < most) starts[d].insert(start);
                number /= mesh_[d];
            }
        }
        return starts;
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
        if (share.rank() == 0 || more <= links_.slowest().latency * links_.slowest().bandwidth) return share;
        size_t longest = 0;
        for (size_t d = 1; d < share.rank(); d++)
            if (int64_t{share.extent(d)} > int64_t{share.extent(longest)}) longest = d;
        const int64_t begin = share.start[longest], end = share.end[longest], length = (end - begin + size - 1) / size;
        share.start[longest] = std::min(end, begin + rank * length);
        share.end[longest] = std::min(end, begin + (rank + 1) * length);
        return share;
    }

    // A place's part of an operation.
    struct Part {
        const BoxWork* work = nullptr;  // none: it has nothing to do
        std::vector<int64_t> numbers;
        std::vector<Box> shares;       // by combining: what it combines
        std::vector<double> elements;  // and how many the first one's has, which is none of the smaller ones
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

    // What it makes is there from now on, for others too.
    Result<Part> make(OperationId id, const Parts& parts, Standing& place) {
        place.combined = {};
        Part own{.numbers = part_numbers(parts, place)};
        const auto box = box_of(parts, own.numbers);
        if (!box) return own;
        const auto work = work_of(id, *box);
        if (!work) return fail(work.error());
        own.work = *work;
        const std::vector<TensorId> tensors = tensors_of(graph_.operation(id));
        const auto add = [&](TensorId tensor, const Box& region) {
            const auto number = static_cast<size_t>(tensor.number());
            if (number >= tensors.size()) return false;
            place.made.add(tensors[number], region);
            note_made(tensors[number], region);
            place.held.add(tensors[number], region);
            return true;
        };
        for (const BoxWork::Stage& stage : own.work->stages)
            for (const auto& [tensor, region] : stage.makes) add(tensor, region);
        for (size_t c = 0; c < own.work->combinings.size(); c++) {
            const BoxWork::Combining& combining = own.work->combinings[c];
            const auto [size, rank] = group_of(combining, parts, own.numbers, place);
            const int64_t element = own.work->element_bytes[combining.result];
            own.shares.push_back(share_of(combining, element, size, rank));
            own.elements.push_back(static_cast<double>(int64_t{share_of(combining, element, size, 0).volume()}));
            if (own.shares[c].is_empty()) continue;
            const Box written = written_by(combining.body, own.shares[c]);
            if (!add(combining.result, written)) place.combined.add(TensorId(c), written);
        }
        return own;
    }

    struct Received {
        double seconds = 0;  // of its links, one message after another
        int64_t bytes = 0;
        std::vector<double> waits;  // by round

        void add(const MachineLinks& links, int64_t within, int64_t across, int32_t round) {
            if (within + across == 0) return;
            bytes += within + across;
            waits.resize(std::max(waits.size(), static_cast<size_t>(round)));
            double& wait = waits[static_cast<size_t>(round) - 1];
            if (within > 0)
                seconds += static_cast<double>(within) / links.within.bandwidth,
                    wait = std::max(wait, links.within.latency);
            if (across > 0)
                seconds += static_cast<double>(across) / links.across.bandwidth,
                    wait = std::max(wait, links.across.latency);
        }
    };

    // Of boxes that a place has not: elements that others of its machine have made, and those that come from other machines.
    template <typename Made>
    std::pair<int64_t, int64_t> from_where(const Standing& place, const std::vector<Box>& missing,
                                           const Made& made) const {
        int64_t within = 0, across = 0;
        for (const Box& wanted : missing) {
            std::vector<Box> rest = {wanted};
            for (const size_t other : place.beside) {
                std::vector<Box> less;
                for (const Box& part : rest)
                    std::ranges::move(without(part, made(places_[other])), std::back_inserter(less));
                rest = std::move(less);
            }
            int64_t left = 0;
            for (const Box& part : rest) left += part.volume();
            within += int64_t{wanted.volume()} - left;
            across += left;
        }
        return {within, across};
    }

    // Of the parts that a place combines those that its machine has, its own among them.
    int64_t parts_within(const BoxWork::Combining& combining, const std::vector<Part>& all, size_t place) const {
        std::set<std::vector<int64_t>> parts;
        const auto add = [&](const Part& part) {
            if (!part.work) return;
            for (const size_t axis : combining.kept)
                if (part.numbers[axis] != all[place].numbers[axis]) return;
            std::vector<int64_t> number;
            for (const size_t axis : combining.axes) number.push_back(part.numbers[axis]);
            parts.insert(std::move(number));
        };
        add(all[place]);
        for (const size_t other : places_[place].beside) add(all[other]);
        return static_cast<int64_t>(parts.size());
    }

    struct Spent {
        double seconds = 0, assembling = 0;
        Received received;
    };

    Spent spend(OperationId id, const Parts& parts, const std::vector<Part>& all, size_t number) {
        Spent spent;
        Standing& place = places_[number];
        if (!all[number].work) return spent;
        const BoxWork& work = *all[number].work;
        const std::vector<TensorId> tensors = tensors_of(graph_.operation(id));
        Holding inner;
        std::map<TensorId, size_t> combined;  // results that are the operation's own
        std::map<TensorId, int32_t> behind;
        std::map<TensorId, double> shares;  // elements of the share of a combined result
        OperationWork own;
        double kernels = 0;
        int64_t held = 0;  // of others' parts, while they are combined
        const auto fetch = [&](TensorId tensor, const Box& region) -> std::pair<int64_t, int64_t> {
            const auto t = static_cast<size_t>(tensor.number());
            if (t < tensors.size() && given_[tensors[t]]) return place.given.fetch(tensors[t], region), std::pair(0, 0);
            if (t < tensors.size())
                return from_where(place, place.held.fetch(tensors[t], region),
                                  [&](const Standing& other) { return other.made.boxes(tensors[t]); });
            const auto result = combined.find(tensor);
            return from_where(place, inner.fetch(tensor, region), [&](const Standing& other) {
                return result == combined.end() ? std::vector<Box>() : other.combined.boxes(TensorId(result->second));
            });
        };
        for (size_t s = 0; s < work.stages.size(); s++) {
            const BoxWork::Stage& stage = work.stages[s];
            int32_t round = 0;
            for (const auto& [tensor, region] : stage.reads) {
                const auto [within, across] = fetch(tensor, region);
                const int64_t size = work.element_bytes[tensor];
                const bool missing = within + across > 0;
                if (const auto t = static_cast<size_t>(tensor.number()); missing && t < tensors.size()) {
                    const int64_t pieces = pieces_of(tensors[t], region);
                    if (pieces > 1)
                        spent.assembling += assembling_seconds(static_cast<double>(int64_t{region.volume()} * size),
                                                               static_cast<double>(pieces), place_);
                }
                round = std::max(round, behind[tensor] + missing);
                spent.received.add(links_, within * size, across * size, behind[tensor] + 1);
                if (const auto share = shares.find(tensor); share != shares.end() && missing) {
                    const auto copied = static_cast<double>(int64_t{region.volume()});
                    own.operations += 2 * copied;
                    own.bytes += 2 * copied * static_cast<double>(size);
                    kernels += copied / share->second;
                }
            }
            own.operations += stage.work.operations;
            own.bytes += stage.work.bytes;
            own.streamed += stage.work.streamed;
            kernels += static_cast<double>(stage.kernels);
            for (const auto& [tensor, region] : stage.makes) {
                if (static_cast<size_t>(tensor.number()) >= tensors.size()) inner.add(tensor, region);
                behind[tensor] = round;
            }
            if (s >= work.combinings.size()) continue;
            const BoxWork::Combining& combining = work.combinings[s];
            const Box& share = all[number].shares[s];
            const bool is_inner = static_cast<size_t>(combining.result.number()) >= tensors.size();
            if (is_inner) combined[combining.result] = s;
            if (!share.is_empty()) {
                int64_t count = 1;
                for (const size_t axis : combining.axes) count *= parts.count[axis];
                const int64_t near = parts_within(combining, all, number);
                const int64_t size = int64_t{share.volume()} * combining.partial_bytes;
                spent.received.add(links_, (near - 1) * size, (count - near) * size, round + 1);
                round += count > 1 && size > 0;
                held = std::max(held, (count - 1) * size);
                if (is_inner) inner.add(combining.result, written_by(combining.body, share));
                add_combining(combining, share, count, work.element_bytes[combining.result], own, kernels);
                if (!(share == combining.range)) shares[combining.result] = all[number].elements[s];
            }
            behind[combining.result] = round;
        }
        spent.seconds = seconds(own, place_, kinds_.kind(id).in, kernels - 1);
        for (const auto& [tensor, boxes] : inner.all()) held += inner.elements(tensor) * work.element_bytes[tensor];
        for (const auto& [tensor, boxes] : place.held.all()) held += place.held.elements(tensor) * element(tensor);
        place.peak = std::max(place.peak, held);
        place.received += spent.received.bytes;
        return spent;
    }

    // Parts are cut into shares where they are made, and put side by side where they are combined.
    static void add_combining(const BoxWork::Combining& combining, const Box& share, int64_t count,
                              int64_t result_bytes, OperationWork& work, double& kernels) {
        const auto copied = static_cast<double>(int64_t{share.volume()});
        const auto elements = static_cast<double>(count) * copied;
        const auto copies = static_cast<double>(share == combining.range ? count : 2 * count - 1);
        work.operations += combining.operations * elements + copies * 2 * copied;
        work.bytes += elements * static_cast<double>(combining.partial_bytes) +
                      copied * static_cast<double>(result_bytes) +
                      copies * 2 * copied * static_cast<double>(combining.partial_bytes);
        kernels += 1 + copies;
    }

    Result<void> step(OperationId id, const Parts& parts) {
        std::vector<Part> own;
        for (Standing& place : places_) {
            auto part = make(id, parts, place);
            if (!part) return fail(std::move(part.error()));
            own.push_back(std::move(*part));
        }
        Spent most;
        double all = 0;
        for (size_t p = 0; p < places_.size(); p++) {
            if (places_[p].count == 0) continue;
            const Spent spent = spend(id, parts, own, p);
            const auto count = static_cast<double>(places_[p].count);
            all += count * spent.received.seconds;
            costs_.bytes += places_[p].count * spent.received.bytes;
            most.seconds = std::max(most.seconds, spent.seconds);
            most.assembling = std::max(most.assembling, spent.assembling);
            most.received.seconds = std::max(most.received.seconds, spent.received.seconds);
            auto& waits = most.received.waits;
            waits.resize(std::max(waits.size(), spent.received.waits.size()));
            for (size_t r = 0; r < spent.received.waits.size(); r++)
                waits[r] = std::max(waits[r], spent.received.waits[r]);
        }
        for (Standing& place : places_)
            for (TensorId t : tensors_of(graph_.operation(id)))
                if (last_read_[t] == id.number()) place.made.forget(t), place.held.forget(t);
        costs_.compute_seconds += most.seconds;
        costs_.send_seconds += std::max(most.received.seconds, all / static_cast<double>(place_count(mesh_)));
        for (const double wait : most.received.waits) costs_.send_seconds += wait;
        costs_.send_seconds += most.assembling;
        return {};
    }

    void gather() {
        std::set<TensorId> outputs(graph_.outputs.begin(), graph_.outputs.end());
        Standing& first = places_.front();
        for (TensorId t : outputs) {
            if (given_[t]) continue;
            Received received;
            const auto missing = first.held.fetch(t, Box::whole(graph_.tensor(t).type.shape));
            const auto [within, across] =
                from_where(first, missing, [&](const Standing& other) { return other.made.boxes(t); });
            received.add(links_, within * element(t), across * element(t), 1);
            costs_.gathered_bytes += received.bytes;
            costs_.gather_seconds += received.seconds;
            for (const double wait : received.waits) costs_.gather_seconds += wait;
        }
    }

    const Graph& graph_;
    const OperationKinds& kinds_;
    const Mesh& mesh_;
    const Target& place_;
    const MachineLinks& links_;
    std::vector<Standing> places_;
    std::vector<bool> given_;
    std::vector<int32_t> last_read_;
    std::map<std::pair<int32_t, Box>, BoxWork> known_;
    std::map<TensorId, Box> largest_made_;  // of the pieces that places make
    ScaleCosts costs_;
};

}  // namespace

Result<ScaleCosts> costs_at_scale(const Graph& graph, const OperationKinds& kinds, const Mesh& mesh,
                                  const std::vector<AxesOfMesh>& cuts, const Target& place, const MachineLinks& links) {
    return AtScale(graph, kinds, mesh, place, links).run(cuts);
}

}  // namespace heddle::placing
