#include "placing/layouts.h"

#include <algorithm>

namespace heddle::placing {

using sharding::Piece;
using sharding::Pieces;
using sharding::PlaceId;
using sharding::Touched;

double seconds(const Sent& sent, double bandwidth, double latency) {
    int64_t most = 0;
    for (int64_t bytes : sent.out) most = std::max(most, bytes);
    for (int64_t bytes : sent.in) most = std::max(most, bytes);
    if (most == 0) return 0;  // of one place there may be no link at all
    return latency * sent.rounds + static_cast<double>(most) / bandwidth + std::ranges::max(sent.assembling);
}

namespace {

// One operation's reads, where `pieces` lie.
class Traffic {
public:
    Traffic(size_t places, const Target& place, Pieces& pieces)
        : place_(place),
          pieces_(pieces),
          sent_{.out = std::vector<int64_t>(places),
                .in = std::vector<int64_t>(places),
                .assembling = std::vector<double>(places)} {}

    // Brings what the place has not. What is the operation's own is put together by what it does itself.
    void read(TensorId tensor, int64_t element, const Box& box, PlaceId place, bool inner = false) {
        if (box.is_empty() || pieces_.holding(tensor, box, place)) return;
        const auto sources = pieces_.sources(tensor, box, place);
        if (sources.size() > 1 && !inner)
            sent_.assembling[place] += assembling_seconds(static_cast<double>(element * int64_t{box.volume()}),
                                                          static_cast<double>(sources.size()), place_);
        for (const auto& [piece, part] : sources) {
            if (piece.place == place) continue;
            const int64_t size = element * part.volume();
            sent_.out[piece.place] += size;
            sent_.in[place] += size;
            sent_.bytes += size;
        }
        pieces_.add(tensor, {box, place, no_id, box.start});
    }

    void apply(const CutCost& cut, std::span<const LayoutId> before) {
        behind_.assign(cut.element_bytes.size(), 0);
        for (const Touched& work : cut.touched) {
            int32_t round = 0;
            for (const auto& [tensor, box] : work.reads) {
                const auto number = static_cast<size_t>(tensor.number());
                if (number < before.size() && before[number] == Layouts::everywhere) continue;
                const int64_t already = sent_.bytes;
                read(tensor, cut.element_bytes[number], box, work.place, number >= before.size());
                round = std::max(round, behind_[number]);
                if (sent_.bytes > already) round++;
            }
            sent_.rounds = std::max(sent_.rounds, round);
            for (const auto& [tensor, box] : work.makes) {
                int32_t& behind = behind_[static_cast<size_t>(tensor.number())];
                behind = std::max(behind, round);
                if (!box.is_empty()) pieces_.add(tensor, {box, work.place, no_id, box.start});
            }
        }
    }

    Sent take() { return std::move(sent_); }

private:
    const Target& place_;
    Pieces& pieces_;
    Sent sent_;
    std::vector<int32_t> behind_;  // by tensor: by which round all places have what the operation makes of it
};

}  // namespace

Layouts::Layouts(size_t places, double bandwidth, double latency, const Target& place)
    : places_(places), bandwidth_(bandwidth), latency_(latency), place_(place) {
    static const Boxes none;
    for (int i = 0; i < 2; i++) {  // everywhere, nowhere
        boxes_.push_back(&none);
        elements_.emplace_back(places, 0);
    }
    numbers_.emplace(none, nowhere);
}

size_t Layouts::KeyHash::operator()(const Key& key) const {
    size_t hash = std::hash<const void*>()(key.cut);
    for (LayoutId layout : key.before) hash = hash * 1'000'003 + static_cast<size_t>(layout.number());
    return hash;
}

const Layouts::Step& Layouts::step(const CutCost& cut, std::span<const LayoutId> before) {
    Key key{&cut, {before.begin(), before.end()}};
    const auto known = steps_.find(key);
    if (known != steps_.end()) return known->second;
    return steps_.emplace(std::move(key), simulate(cut, before)).first->second;
}

Layouts::Step Layouts::simulate(const CutCost& cut, std::span<const LayoutId> before) {
    Pieces pieces;
    for (size_t t = 0; t < before.size(); t++)
        for (const auto& [place, box] : *boxes_[before[t]]) pieces.add(TensorId(t), {box, place, no_id, box.start});
    Traffic traffic(places_, place_, pieces);
    traffic.apply(cut, before);
    Step step{.sent = traffic.take(), .inner_bytes = std::vector<int64_t>(places_)};
    step.seconds = seconds(step.sent, bandwidth_, latency_);
    for (size_t t = 0; t < before.size(); t++)
        step.after.push_back(
            pieces.all(TensorId(t)).size() == boxes_[before[t]]->size() ? before[t] : number_of(pieces, TensorId(t)));
    for (size_t t = before.size(); t < cut.element_bytes.size(); t++)
        for (const Piece& piece : pieces.all(TensorId(t)))
            step.inner_bytes[piece.place] += cut.element_bytes[t] * piece.box.volume();
    return step;
}

Layouts::Step Layouts::gather(LayoutId layout, DType dtype, const Box& box, PlaceId reader) {
    Step step{.sent = {.out = std::vector<int64_t>(places_),
                       .in = std::vector<int64_t>(places_),
                       .assembling = std::vector<double>(places_)},
              .after = {layout}};
    if (layout == everywhere) return step;
    Pieces pieces;
    for (const auto& [place, box] : *boxes_[layout]) pieces.add(TensorId(0), {box, place, no_id, box.start});
    Traffic traffic(places_, place_, pieces);
    traffic.read(TensorId(0), bytes(dtype), box, reader);
    step.sent = traffic.take();
    step.sent.rounds = step.sent.bytes > 0;
    step.seconds = seconds(step.sent, bandwidth_, latency_);
    step.after = {number_of(pieces, TensorId(0))};
    return step;
}

LayoutId Layouts::number_of(const sharding::Spread& spread) {
    Pieces pieces;
    for (const auto& [place, box] : spread) pieces.add(TensorId(0), {box, place, no_id, box.start});
    return number_of(pieces, TensorId(0));
}

LayoutId Layouts::number_of(const Pieces& pieces, TensorId tensor) {
    Boxes boxes;
    const auto& all = pieces.all(tensor);
    for (size_t i = 0; i < all.size(); i++) {
        bool within = false;
        for (size_t j = 0; j < all.size() && !within; j++) {
            const bool other = j != i && all[j].place == all[i].place && contains(all[j].box, all[i].box);
            within = other && (j < i || !(all[j].box == all[i].box));
        }
        if (!within) boxes.emplace_back(all[i].place, all[i].box);
    }
    std::ranges::sort(boxes);
    const auto [known, fresh] = numbers_.try_emplace(std::move(boxes), LayoutId(boxes_.size()));
    if (fresh) {
        boxes_.push_back(&known->first);
        auto& elements = elements_.emplace_back(places_, 0);
        for (const auto& [place, box] : known->first) elements[place] += box.volume();
    }
    return known->second;
}

}  // namespace heddle::placing
