#include "placing/layouts.h"

#include <algorithm>
#include <iterator>

namespace heddle::placing {

using sharding::Piece;
using sharding::Pieces;
using sharding::PlaceId;
using sharding::Touched;

std::vector<Box> without(const Box& box, const std::vector<Box>& held) {
    std::vector<Box> missing;
    if (!box.is_empty()) missing.push_back(box);
    for (const Box& own : held) {
        if (missing.empty()) break;
        if (!overlap(own, box)) continue;
        std::vector<Box> rest;
        for (Box& part : missing) {
            const Box common = intersection(part, own);
            if (common.is_empty())
                rest.push_back(std::move(part));
            else
                std::ranges::move(difference(part, common), std::back_inserter(rest));
        }
        missing = std::move(rest);
    }
    return missing;
}

std::vector<Box> largest(const std::vector<Box>& boxes) {
    std::vector<Box> list;
    for (size_t i = 0; i < boxes.size(); i++) {
        bool within = false;
        for (size_t j = 0; j < boxes.size() && !within; j++)
            within = j != i && contains(boxes[j], boxes[i]) && (j < i || !(boxes[i] == boxes[j]));
        if (!within) list.push_back(boxes[i]);
    }
    return list;
}

int64_t elements_of(const std::vector<Box>& boxes) {
    int64_t elements = 0;
    for (const Box& box : largest(boxes)) elements += box.volume();
    return elements;
}

PairLinks::PairLinks(const System& system)
    : places_(system.devices.size()), links_(places_ * places_, link_figures(system)) {
    for (const Link& link : system.links) {
        const auto from = static_cast<size_t>(system.memory(link.from).process);
        links_[from * places_ + static_cast<size_t>(system.memory(link.to).process)] = {link.bandwidth, link.latency};
    }
}

// One operation's reads, of tensors that lie so.
class Layouts::Traffic {
public:
    Traffic(const PairLinks& links, const Target& place, size_t tensors)
        : links_(links),
          place_(place),
          held_(tensors, std::vector<std::vector<Box>>(links.places())),
          sent_{.out = std::vector<int64_t>(links.places()),
                .in = std::vector<int64_t>(links.places()),
                .assembling = std::vector<double>(links.places())},
          sends_(links.places()),
          receives_(links.places()),
          changed_(tensors) {}

    void lay(TensorId tensor, const Held& held) {
        held_[tensor][held.place].push_back(held.box);
        if (held.is_made) made_.add(tensor, {held.box, held.place, no_id, held.box.start});
    }

    // Brings what the place has not; in this round, if it is anything. What is the operation's own is put together by what it
    // does itself.
    bool read(TensorId tensor, int64_t element, const Box& box, PlaceId place, int32_t round, bool inner) {
        auto& held = held_[tensor][place];
        const std::vector<Box> missing = without(box, held);
        size_t pieces = std::ranges::count_if(held, [&](const Box& own) { return overlap(own, box); });
        for (const Box& wanted : missing) {
            for (const auto& [piece, part] : made_.sources(tensor, wanted, place)) {
                pieces++;
                const int64_t size = element * part.volume();
                const LinkFigures& link = links_.link(piece.place, place);
                sent_.out[piece.place] += size;
                sent_.in[place] += size;
                sent_.bytes += size;
                sends_[piece.place] += static_cast<double>(size) / link.bandwidth;
                receives_[place] += static_cast<double>(size) / link.bandwidth;
                waits_.resize(std::max(waits_.size(), static_cast<size_t>(round)));
                double& wait = waits_[static_cast<size_t>(round) - 1];
                wait = std::max(wait, link.latency);
            }
        }
        if (!inner && pieces > 1 && std::ranges::none_of(held, [&](const Box& own) { return contains(own, box); }))
            sent_.assembling[place] += assembling_seconds(static_cast<double>(element * int64_t{box.volume()}),
                                                          static_cast<double>(pieces), place_);
        if (missing.empty()) return false;
        held.push_back(box);
        changed_[tensor] = true;
        return true;
    }

    void apply(const CutCost& cut, std::span<const LayoutId> before) {
        std::vector<int32_t> behind(cut.element_bytes.size());  // by which round all have what is made of a tensor
        for (const Touched& work : cut.touched) {
            int32_t round = 0;
            for (const auto& [tensor, box] : work.reads) {
                const auto number = static_cast<size_t>(tensor.number());
                if (number < before.size() && before[number] == everywhere) continue;
                const int32_t next = behind[number] + 1;
                round = std::max(round,
                                 read(tensor, cut.element_bytes[number], box, work.place, next, number >= before.size())
                                     ? next
                                     : next - 1);
            }
            for (const auto& [tensor, box] : work.makes) {
                int32_t& own = behind[static_cast<size_t>(tensor.number())];
                own = std::max(own, round);
                if (box.is_empty()) continue;
                lay(tensor, {work.place, box, true});
                changed_[tensor] = true;
            }
        }
    }

    Sent take() {
        double most = 0;
        for (const auto* list : {&sends_, &receives_})
            for (const double own : *list) most = std::max(most, own);
        sent_.seconds = most + std::ranges::max(sent_.assembling);
        for (const double wait : waits_) sent_.seconds += wait;
        return std::move(sent_);
    }

    bool is_changed(TensorId tensor) const { return changed_[tensor]; }

    Boxes boxes(TensorId tensor) const {
        std::vector<std::vector<Box>> made(links_.places());
        for (const Piece& piece : made_.all(tensor)) made[piece.place].push_back(piece.box);
        Boxes list;
        for (size_t p = 0; p < made.size(); p++) {
            const std::vector<Box> own = largest(made[p]);
            for (const Box& box : own) list.push_back({PlaceId(p), box, true});
            for (Box& box : largest(held_[tensor][p]))
                if (std::ranges::count(own, box) == 0) list.push_back({PlaceId(p), std::move(box), false});
        }
        std::sort(list.begin(), list.end());
        return list;
    }

    // Elements that each place holds.
    std::vector<int64_t> elements(TensorId tensor) const {
        std::vector<int64_t> list;
        for (const auto& held : held_[tensor]) list.push_back(elements_of(held));
        return list;
    }

private:
    const PairLinks& links_;
    const Target& place_;
    std::vector<std::vector<std::vector<Box>>> held_;  // by tensor and place
    Pieces made_;
    Sent sent_;
    std::vector<double> sends_, receives_, waits_;  // by place; by round
    std::vector<bool> changed_;                     // by tensor
};

Layouts::Layouts(const System& system) : links_(system), place_(*system.devices.front().target) {
    static const Boxes none;
    for (int i = 0; i < 2; i++) {  // everywhere, nowhere
        boxes_.push_back(&none);
        elements_.emplace_back(links_.places(), 0);
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
    Traffic traffic(links_, place_, cut.element_bytes.size());
    for (size_t t = 0; t < before.size(); t++)
        for (const Held& held : *boxes_[before[t]]) traffic.lay(TensorId(t), held);
    traffic.apply(cut, before);
    Step step{.inner_bytes = std::vector<int64_t>(links_.places())};
    for (size_t t = 0; t < before.size(); t++)
        step.after.push_back(traffic.is_changed(TensorId(t)) ? number_of(traffic.boxes(TensorId(t))) : before[t]);
    for (size_t t = before.size(); t < cut.element_bytes.size(); t++) {
        const std::vector<int64_t> elements = traffic.elements(TensorId(t));
        for (size_t p = 0; p < elements.size(); p++) step.inner_bytes[p] += cut.element_bytes[t] * elements[p];
    }
    step.sent = traffic.take();
    step.seconds = step.sent.seconds;
    return step;
}

Layouts::Step Layouts::gather(LayoutId layout, DType dtype, const Box& box, PlaceId reader) {
    Traffic traffic(links_, place_, 1);
    Step step{.sent = {}, .after = {layout}};
    if (layout != everywhere) {
        for (const Held& held : *boxes_[layout]) traffic.lay(TensorId(0), held);
        traffic.read(TensorId(0), bytes(dtype), box, reader, 1, false);
        step.after = {number_of(traffic.boxes(TensorId(0)))};
    }
    step.sent = traffic.take();
    step.seconds = step.sent.seconds;
    return step;
}

LayoutId Layouts::number_of(const sharding::Spread& spread) {
    Traffic traffic(links_, place_, 1);
    for (const auto& [place, box] : spread) traffic.lay(TensorId(0), {place, box, true});
    return number_of(traffic.boxes(TensorId(0)));
}

sharding::Spread Layouts::spread(LayoutId layout) const {
    sharding::Spread spread;
    for (const Held& held : *boxes_[layout]) spread.emplace_back(held.place, held.box);
    return spread;
}

LayoutId Layouts::number_of(Boxes boxes) {
    const auto [known, fresh] = numbers_.try_emplace(std::move(boxes), LayoutId(boxes_.size()));
    if (fresh) {
        boxes_.push_back(&known->first);
        std::vector<std::vector<Box>> held(links_.places());
        for (const Held& own : known->first) held[own.place].push_back(own.box);
        auto& elements = elements_.emplace_back();
        for (const auto& own : held) elements.push_back(elements_of(own));
    }
    return known->second;
}

}  // namespace heddle::placing
