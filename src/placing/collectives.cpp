#include "placing/collectives.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace heddle::placing {
namespace {

using sharding::Brought;
using sharding::PartOfResult;
using sharding::PlaceId;
using Kind = Collective::Kind;

void widen(std::optional<Box>& known, const Box& box) {
    if (!box.is_empty()) known = known ? hull(*known, box) : box;
}

// What is brought together: of a tensor, or of all tensors of partial results of one result.
struct Subject {
    TensorId tensor;
    const PartOfResult* partial = nullptr;
    OperationId reader;
};

// Places that send each other something, with all others that these send to or receive from.
struct Group {
    std::set<PlaceId> senders, receivers;
    std::vector<PlaceId> places() const {
        std::vector<PlaceId> all;
        std::ranges::set_union(senders, receivers, std::back_inserter(all));
        return all;
    }
};

// The boxes that places have made of each tensor, and that work for each operation reads of it, each place's as the box
// around them. Of partial results only the points that they are partial results of: their parts are at different places.
class Touches {
public:
    explicit Touches(const sharding::PlacedGraph& placed) : placed_(placed) {
        for (const sharding::Touched& touched : placed.touched) {
            for (const auto& [t, box] : touched.reads)
                widen(reads_[{key(t), touched.of, touched.place}], points(t, box));
            for (const auto& [t, box] : touched.makes) widen(makes_[{key(t), touched.place}], points(t, box));
        }
    }

    std::optional<Box> read(const Subject& subject, PlaceId place) const {
        const auto known = reads_.find({{subject.tensor, subject.partial != nullptr}, subject.reader, place});
        return known == reads_.end() ? std::nullopt : known->second;
    }
    std::optional<Box> made(const Subject& subject, PlaceId place) const {
        const auto known = makes_.find({{subject.tensor, subject.partial != nullptr}, place});
        return known == makes_.end() ? std::nullopt : known->second;
    }

private:
    using Key = std::pair<TensorId, bool>;  // whether of partial results of it

    Key key(TensorId t) const {
        const auto partial = placed_.partial.find(t);
        return partial == placed_.partial.end() ? Key{t, false} : Key{partial->second.result, true};
    }
    Box points(TensorId t, const Box& box) const {
        const auto partial = placed_.partial.find(t);
        if (partial == placed_.partial.end() || box.is_empty()) return box;
        Box points;
        for (size_t d = partial->second.parts; d < box.rank(); d++) {
            points.start.push_back(box.start[d]);
            points.end.push_back(box.end[d]);
        }
        return points;
    }

    const sharding::PlacedGraph& placed_;
    std::map<std::tuple<Key, OperationId, PlaceId>, std::optional<Box>> reads_;
    std::map<std::pair<Key, PlaceId>, std::optional<Box>> makes_;
};

// What one group does, by what its places have and read.
class Classified {
public:
    Classified(const Touches& touches, const Subject& subject, const Group& group) : group_(group) {
        for (PlaceId place : group.receivers) {
            const auto read = touches.read(subject, place);
            if (read) reads_[place] = *read;
        }
        for (const auto& [place, box] : reads_) distinct_.insert(box);
        if (distinct_.empty()) return;
        Box all = *distinct_.begin();
        for (const Box& box : distinct_) all = hull(all, box);
        for (PlaceId place : group.places()) {
            const auto made = touches.made(subject, place);
            if (!made) continue;
            made_[place] = *made;
            if (overlap(*made, all)) used_[place] = intersection(*made, all);
        }
    }

    Kind of_partial_results() const {
        if (group_.receivers.size() == 1) return Kind::reduce;
        if (distinct_.size() == 1) return Kind::all_reduce;
        return apart() ? Kind::reduce_scatter : Kind::messages;
    }

    Kind of_tensor() const {
        const bool from_one = group_.senders.size() == 1;
        if (distinct_.empty()) return Kind::messages;
        if (group_.receivers.size() == 1) {
            if (from_one && !has_part(*group_.receivers.begin())) return Kind::messages;
            return !reads_all_parts() && is_halo() ? Kind::halo : Kind::gather;
        }
        if (distinct_.size() == 1) return from_one ? Kind::broadcast : Kind::all_gather;
        if (is_halo()) return Kind::halo;
        if (!apart()) return Kind::messages;
        return from_one ? Kind::scatter : Kind::all_to_all;
    }

private:
    bool apart() const {
        const std::vector<Box> boxes(distinct_.begin(), distinct_.end());
        return !overlapping(boxes);
    }

    bool has_part(PlaceId place) const {
        const auto made = made_.find(place);
        return made != made_.end() && overlap(made->second, reads_.at(place));
    }

    bool reads_all_parts() const {
        const Box& read = *distinct_.begin();
        return std::ranges::all_of(group_.senders, [&](PlaceId place) {
            const auto made = made_.find(place);
            return made == made_.end() || contains(read, made->second);
        });
    }

    // Each reads on where its part ends, no further than a part is long, and nothing less of it in another dimension. What
    // nobody reads of parts does not count.
    bool is_halo() const {
        return std::ranges::all_of(reads_, [&](const auto& each) {
            const auto own = used_.find(each.first);
            if (own == used_.end() || !overlap(own->second, each.second)) return false;
            for (size_t d = 0; d < own->second.rank(); d++)
                if (!is_margin(own->second, each.second, d)) return false;
            return true;
        });
    }

    bool is_margin(const Box& own, const Box& read, size_t d) const {
        const int64_t before = own.start[d] - read.start[d], behind = read.end[d] - own.end[d];
        if (before <= 0 && behind <= 0) return before == 0 && behind == 0;
        int64_t longest = 0;
        for (const auto& [place, part] : used_) longest = std::max<int64_t>(longest, part.extent(d));
        return before <= longest && behind <= longest;
    }

    const Group& group_;
    std::map<PlaceId, Box> reads_;        // of receivers
    std::set<Box> distinct_;              // of these
    std::map<PlaceId, Box> made_, used_;  // used: within what is read
};

// One collective as it is found, with what each place sends and receives.
struct Found {
    Collective collective;
    TensorId tensor;
    std::map<PlaceId, std::pair<int64_t, int64_t>> traffic;

    void add(const Found& other) {
        for (const auto& [place, bytes] : other.traffic) {
            traffic[place].first += bytes.first;
            traffic[place].second += bytes.second;
        }
    }
};

class Recognised {
public:
    explicit Recognised(const sharding::PlacedGraph& placed) : placed_(placed), touches_(placed) {
        for (const auto& [subject, moves] : by_subject()) add(subject, moves);
        join_all_reduces();
    }

    std::vector<Collective> list() {
        std::vector<Collective> list;
        for (Found& found : found_) {
            for (const auto& [place, bytes] : found.traffic) {
                found.collective.bytes += bytes.first;
                found.collective.busiest = std::max({found.collective.busiest, bytes.first, bytes.second});
            }
            list.push_back(std::move(found.collective));
        }
        return list;
    }

private:
    using Moves = std::vector<const Brought*>;

    // What no element is brought of is left out.
    std::vector<std::pair<Subject, Moves>> by_subject() const {
        std::vector<std::pair<Subject, Moves>> subjects;
        std::map<std::tuple<TensorId, bool, OperationId>, size_t> numbers;
        for (const Brought& brought : placed_.brought) {
            if (brought.box.is_empty()) continue;
            const auto partial = placed_.partial.find(brought.tensor);
            Subject subject{brought.tensor, nullptr, brought.reader};
            if (partial != placed_.partial.end()) {
                subject.tensor = partial->second.result;
                subject.partial = &partial->second;
            }
            const auto [number, fresh] = numbers.try_emplace(
                std::tuple(subject.tensor, subject.partial != nullptr, subject.reader), subjects.size());
            if (fresh) subjects.push_back({subject, {}});
            subjects[number->second].second.push_back(&brought);
        }
        return subjects;
    }

    // Of each place the number of its group.
    static std::map<PlaceId, size_t> connected(const Moves& moves) {
        std::map<PlaceId, size_t> number;
        for (const Brought* move : moves) {
            const size_t from = number.try_emplace(move->from, number.size()).first->second;
            const size_t to = number.try_emplace(move->to, number.size()).first->second;
            if (from == to) continue;
            for (auto& [place, own] : number)
                if (own == to) own = from;
        }
        return number;
    }

    // Groups that do the same are one collective.
    void add(const Subject& subject, const Moves& moves) {
        const std::map<PlaceId, size_t> number = connected(moves);
        std::map<size_t, Group> groups;
        for (const Brought* move : moves) {
            Group& group = groups[number.at(move->from)];
            group.senders.insert(move->from);
            group.receivers.insert(move->to);
        }
        std::map<size_t, Kind> kinds;
        std::map<Kind, Found> made;
        for (const auto& [own, group] : groups) {
            const Classified classified(touches_, subject, group);
            kinds[own] = subject.partial ? classified.of_partial_results() : classified.of_tensor();
            Found& found = made[kinds[own]];
            found.collective.groups.push_back(group.places());
        }
        for (const Brought* move : moves) {
            Found& found = made[kinds.at(number.at(move->from))];
            const int64_t bytes = placed_.graph.tensor(move->own).type.byte_size();
            found.traffic[move->from].first += bytes;
            found.traffic[move->to].second += bytes;
        }
        for (auto& [kind, found] : made) {
            found.collective.kind = kind;
            found.collective.tensor = placed_.graph.tensor(subject.tensor).name;
            if (subject.partial) {
                found.collective.tensor = subject.partial->name;
                found.collective.combiner = subject.partial->combiner;
                found.collective.part = subject.partial->part;
            }
            std::ranges::sort(found.collective.groups);
            found.tensor = subject.tensor;
            found_.push_back(std::move(found));
        }
    }

    // Shares are combined, and of what they become all places that took part get all, right after it.
    void join_all_reduces() {
        for (size_t i = 0; i < found_.size(); i++) {
            Found& first = found_[i];
            if (first.collective.kind != Kind::reduce_scatter) continue;
            const auto then = std::find_if(
                found_.begin() + static_cast<std::ptrdiff_t>(i) + 1, found_.end(), [&](const Found& other) {
                    return other.tensor == first.tensor && other.collective.kind == Kind::all_gather &&
                           other.collective.groups == first.collective.groups;
                });
            if (then == found_.end()) continue;
            first.collective.kind = Kind::all_reduce;
            first.add(*then);
            found_.erase(then);
        }
    }

    const sharding::PlacedGraph& placed_;
    const Touches touches_;
    std::vector<Found> found_;
};

std::string places_text(const std::vector<std::vector<PlaceId>>& groups) {
    if (groups.size() == 1) return fmt::format("{} places", groups[0].size());
    const bool alike = std::ranges::all_of(groups, [&](const auto& group) { return group.size() == groups[0].size(); });
    if (alike) return fmt::format("{} groups of {} places", groups.size(), groups[0].size());
    size_t places = 0;
    for (const auto& group : groups) places += group.size();
    return fmt::format("{} places in {} groups", places, groups.size());
}

}  // namespace

std::string_view name(Kind kind) {
    switch (kind) {
    case Kind::broadcast: return "broadcast";
    case Kind::scatter: return "scatter";
    case Kind::gather: return "gather";
    case Kind::all_gather: return "all-gather";
    case Kind::all_to_all: return "all-to-all";
    case Kind::halo: return "halo";
    case Kind::reduce: return "reduce";
    case Kind::reduce_scatter: return "reduce-scatter";
    case Kind::all_reduce: return "all-reduce";
    case Kind::messages: break;
    }
    return "messages";
}

std::string text(const Collective& collective) {
    return fmt::format("{} of {}: {}{}, {} bytes, {} at the busiest place", name(collective.kind), collective.tensor,
                       collective.part.empty() ? "" : collective.part + ", ", places_text(collective.groups),
                       collective.bytes, collective.busiest);
}

std::vector<Collective> collectives_of(const sharding::PlacedGraph& placed) { return Recognised(placed).list(); }

}  // namespace heddle::placing
