#include "placing/cut_search.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>

namespace heddle::placing {

using sharding::PlaceId;
using sharding::Touched;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
using State = std::vector<LayoutId>;

struct StateHash {
    size_t operator()(const State& state) const {
        size_t hash = state.size();
        for (LayoutId layout : state) hash = (hash ^ static_cast<size_t>(layout.number())) * 0x9e3779b97f4a7c15u;
        return hash ^ (hash >> 32);
    }
};

}  // namespace

CutSearch::CutSearch(const Graph& graph, const CutTable& table, Layouts& layouts, const std::vector<PlaceId>& readers,
                     const sharding::Spreads& spreads)
    : graph_(graph),
      table_(table),
      layouts_(layouts),
      given_(graph.tensors.size(), false),
      begin_(graph.tensors.size(), Layouts::nowhere) {
    for (size_t t = 0; t < graph.tensors.size(); t++)
        given_[t] = graph.tensors[t].constant && graph.tensors[t].producer == no_id;
    for (TensorId t : graph.inputs) given_[t] = !spreads.inputs.contains(t);
    for (size_t t = 0; t < given_.size(); t++)
        if (given_[t]) begin_[t] = Layouts::everywhere;
    for (const auto& [t, spread] : spreads.inputs) begin_[t] = layouts.number_of(spread);
    for (size_t i = 0; i < graph.outputs.size(); i++) {
        const auto stays = spreads.outputs.find(i);
        if (stays == spreads.outputs.end() ? readers.empty() : stays->second.empty()) continue;
        sharding::Spread& asked = asked_[graph.outputs[i]];
        if (stays != spreads.outputs.end())
            asked.insert(asked.end(), stays->second.begin(), stays->second.end());
        else
            for (PlaceId reader : readers)
                asked.emplace_back(reader, Box::whole(graph.tensor(graph.outputs[i]).type.shape));
    }
    const size_t count = graph.operations.size();
    last_read_.assign(graph.tensors.size(), -1);
    for (size_t o = 0; o < count; o++)
        for (TensorId t : tensors_of(graph.operations[o])) last_read_[t] = static_cast<int32_t>(o);
    for (const auto& [t, asked] : asked_)
        if (last_read_[t] < 0) last_read_[t] = static_cast<int32_t>(count);
    for (const auto& [t, spread] : spreads.inputs)
        if (last_read_[t] >= 0) live_.push_back(t);
    std::vector<TensorId> live = live_;
    for (size_t o = 0; o < count; o++) {
        Frame& frame = frames_.emplace_back();
        frame.tensors = tensors_of(graph.operations[o]);
        const auto position = [&](TensorId t) {
            return static_cast<int32_t>(std::ranges::find(live, t) - live.begin());
        };
        const auto known = static_cast<int32_t>(live.size());
        for (TensorId t : frame.tensors)
            frame.before.push_back(given_[t] ? -1 : position(t) == known ? -2 : position(t));
        std::vector<TensorId> after = live;
        for (size_t i = 0; i < frame.tensors.size(); i++)
            if (frame.before[i] == -2) after.push_back(frame.tensors[i]);
        std::erase_if(after, [&](TensorId t) { return last_read_[t] <= static_cast<int32_t>(o); });
        for (TensorId t : after) {
            const auto own = std::ranges::find(frame.tensors, t);
            frame.from.push_back(
                own == frame.tensors.end() ? position(t) : known + static_cast<int32_t>(own - frame.tensors.begin()));
        }
        frame.live = live = std::move(after);
        auto& loaded = loaded_.emplace_back();
        for (const CutChoice* choice : table.choices[o]) loaded.push_back(loaded_bytes(OperationId(o), *choice));
    }
}

int64_t CutSearch::loaded_bytes(OperationId operation, const CutChoice& choice) const {
    const std::vector<TensorId> tensors = tensors_of(graph_.operation(operation));
    std::map<std::pair<PlaceId, TensorId>, std::vector<Box>> boxes;
    for (const Touched& work : choice.cost.touched) {
        for (const auto& [tensor, box] : work.reads) {
            const auto number = static_cast<size_t>(tensor.number());
            if (number < tensors.size() && given_[tensors[number]] && graph_.tensor(tensors[number]).constant)
                boxes[{work.place, tensor}].push_back(box);
        }
    }
    std::map<PlaceId, int64_t> bytes;
    for (const auto& [where, list] : boxes)
        bytes[where.first] += elements_of(list) * choice.cost.element_bytes[where.second];
    int64_t most = 0;
    for (const auto& [place, size] : bytes) most = std::max(most, size);
    return most;
}

double CutSearch::sent(const Layouts::Step& step, const CutWeights& weights) const {
    return weights.seconds * step.seconds + weights.byte * static_cast<double>(step.sent.bytes);
}

double CutSearch::gathered(TensorId output, LayoutId layout, const CutWeights& weights) const {
    const auto asked = asked_.find(output);
    if (asked == asked_.end()) return 0;
    const auto [known, fresh] = gathered_.try_emplace({output, layout});
    auto& [seconds, bytes] = known->second;
    for (size_t i = 0; fresh && i < asked->second.size(); i++) {
        const auto& [reader, box] = asked->second[i];
        const auto step = layouts_.gather(layout, graph_.tensor(output).type.dtype, box, reader);
        seconds += step.seconds;
        bytes += step.sent.bytes;
        layout = step.after.front();
    }
    return weights.seconds * seconds + weights.byte * static_cast<double>(bytes);
}

double CutSearch::given_away(size_t operation, const Layouts::Step& step, const CutWeights& weights) const {
    double cost = 0;
    const auto& tensors = frames_[operation].tensors;
    for (size_t i = 0; i < tensors.size(); i++)
        if (!given_[tensors[i]] && last_read_[tensors[i]] == static_cast<int32_t>(operation))
            cost += gathered(tensors[i], step.after[i], weights);
    return cost;
}

std::vector<std::vector<double>> CutSearch::costs_alone(const CutWeights& weights) const {
    std::vector<std::vector<double>> costs;
    for (size_t o = 0; o < frames_.size(); o++) {
        auto& own = costs.emplace_back();
        for (size_t c = 0; c < table_.choices[o].size(); c++) {
            const CutChoice& choice = *table_.choices[o][c];
            own.push_back(weights.seconds * choice.seconds + weights.launch * static_cast<double>(choice.launches) +
                          weights.loaded_byte * static_cast<double>(loaded_[o][c]));
        }
    }
    return costs;
}

// ---- states, one operation after another

class CutSearch::Pass {
public:
    // Nothing that costs more than `bound` is looked for.
    Pass(CutSearch& search, const CutWeights& weights, const std::vector<std::vector<double>>& alone, size_t beam,
         double bound)
        : search_(search), weights_(weights), alone_(alone), beam_(beam), bound_(bound), rest_(alone.size() + 1, 0) {
        for (size_t o = alone.size(); o-- > 0;) rest_[o] = rest_[o + 1] + std::ranges::min(alone[o]);
    }

    // Without choices: nothing is cheaper than the bound, or it was stopped.
    FoundCuts run(const std::function<bool()>& stop) {
        State begin;
        for (TensorId t : search_.live_) begin.push_back(search_.begin_[t]);
        std::vector<Way> ways = {{.state = std::move(begin), .cost = 0, .parent = 0, .choice = 0}};
        for (size_t o = 0; o < alone_.size(); o++) {
            if (stop()) return {.choices = {}, .cost = infinite, .is_least = false};
            ways = next(o, ways);
            auto& trail = trails_.emplace_back();
            for (const Way& way : ways) trail.push_back({way.parent, way.choice});
        }
        return best_of(ways);
    }

private:
    struct Way {
        State state;
        double cost;
        uint32_t parent, choice;  // among the ways before, and among the operation's cuts
    };
    struct Move {
        double cost;
        uint32_t choice;
        const Layouts::Step* step;
    };

    // That cost no more than this; of cuts that leave the tensors alike the cheapest.
    std::vector<Move> moves(size_t o, const State& before, double most) {
        const Frame& frame = search_.frames_[o];
        std::vector<Move> list;
        std::unordered_map<State, size_t, StateHash> known;
        const auto& choices = search_.table_.choices[o];
        for (size_t c = 0; c < choices.size(); c++) {
            if (alone_[o][c] > most) continue;
            const Layouts::Step& step = search_.layouts_.step(choices[c]->cost, before);
            const Move move{alone_[o][c] + search_.sent(step, weights_) + search_.given_away(o, step, weights_),
                            static_cast<uint32_t>(c), &step};
            State kept;
            for (size_t i = 0; i < frame.tensors.size(); i++)
                if (search_.last_read_[frame.tensors[i]] > static_cast<int32_t>(o)) kept.push_back(step.after[i]);
            const auto [found, fresh] = known.try_emplace(std::move(kept), list.size());
            if (fresh)
                list.push_back(move);
            else if (move.cost < list[found->second].cost)
                list[found->second] = move;
        }
        return list;
    }

    State layouts_before(const Frame& frame, const Way& way) const {
        State before;
        for (int32_t from : frame.before)
            before.push_back(from == -1   ? Layouts::everywhere
                             : from == -2 ? Layouts::nowhere
                                          : way.state[static_cast<size_t>(from)]);
        return before;
    }

    std::vector<Way> next(size_t o, const std::vector<Way>& ways) {
        const Frame& frame = search_.frames_[o];
        // Ways in which the operation's tensors lie alike, and the least that one of them costs.
        struct Alike {
            double least = infinite;
            std::vector<Move> moves;
        };
        std::unordered_map<State, Alike, StateHash> alike;
        std::vector<std::pair<const State, Alike>*> of_way;
        for (const Way& way : ways) {
            of_way.push_back(&*alike.try_emplace(layouts_before(frame, way)).first);
            Alike& own = of_way.back()->second;
            own.least = std::min(own.least, way.cost);
        }
        for (auto& [before, own] : alike) own.moves = moves(o, before, bound_ - own.least - rest_[o + 1]);
        std::unordered_map<State, uint32_t, StateHash> known;
        std::vector<Way> made;
        State state(frame.live.size());
        for (size_t w = 0; w < ways.size(); w++) {
            const Way& way = ways[w];
            for (const Move& move : of_way[w]->second.moves) {
                const double cost = way.cost + move.cost;
                if (cost + rest_[o + 1] > bound_) continue;
                for (size_t j = 0; j < state.size(); j++) {
                    const auto from = static_cast<size_t>(frame.from[j]);
                    state[j] = from < way.state.size() ? way.state[from] : move.step->after[from - way.state.size()];
                }
                const auto [other, unknown] = known.try_emplace(state, static_cast<uint32_t>(made.size()));
                if (unknown)
                    made.push_back({state, cost, static_cast<uint32_t>(w), move.choice});
                else if (Way& same = made[other->second]; cost < same.cost)
                    same = {state, cost, static_cast<uint32_t>(w), move.choice};
            }
        }
        return kept(std::move(made), rest_[o + 1]);
    }

    std::vector<Way> kept(std::vector<Way> ways, double rest) {
        if (ways.size() <= beam_) return ways;
        std::ranges::stable_sort(ways, {}, &Way::cost);
        least_dropped_ = std::min(least_dropped_, ways[beam_].cost + rest);
        ways.resize(beam_);
        return ways;
    }

    FoundCuts best_of(const std::vector<Way>& ways) const {
        const auto& live = search_.frames_.empty() ? search_.live_ : search_.frames_.back().live;
        FoundCuts found{.choices = {}, .cost = infinite};
        uint32_t best = 0;
        for (size_t w = 0; w < ways.size(); w++) {
            double cost = ways[w].cost;
            for (size_t j = 0; j < live.size(); j++) cost += search_.gathered(live[j], ways[w].state[j], weights_);
            if (cost >= found.cost) continue;
            found.cost = cost;
            best = static_cast<uint32_t>(w);
        }
        found.is_least = std::min(found.cost, bound_) <= least_dropped_;
        if (found.cost == infinite) return found;
        found.choices.resize(trails_.size());
        for (size_t o = trails_.size(); o-- > 0;) {
            found.choices[o] = search_.table_.choices[o][trails_[o][best].second];
            best = trails_[o][best].first;
        }
        return found;
    }

    CutSearch& search_;
    const CutWeights& weights_;
    const std::vector<std::vector<double>>& alone_;
    size_t beam_;
    double bound_;
    std::vector<double> rest_;  // that operations from this one on cost at least
    double least_dropped_ = infinite;
    // By operation and way: the way before, and the cut.
    std::vector<std::vector<std::pair<uint32_t, uint32_t>>> trails_;
};

// ---- exchanges of single cuts

class CutSearch::Exchange {
public:
    Exchange(CutSearch& search, const CutWeights& weights, const std::vector<std::vector<double>>& alone,
             CutChoices choices)
        : search_(search),
          weights_(weights),
          alone_(alone),
          choices_(std::move(choices)),
          changed_(search.given_.size()) {
        settle();
    }

    // Whether anything was exchanged.
    bool improve(const std::function<bool()>& stop) {
        bool any = false;
        for (size_t o = 0; o < choices_.size() && !stop(); o++) {
            for (size_t c = 0; c < search_.table_.choices[o].size(); c++) {
                const CutChoice* other = search_.table_.choices[o][c];
                if (other == choices_[o] || difference(o, c) >= -1e-12 * cost_) continue;
                choices_[o] = other;
                settle();
                any = true;
            }
        }
        return any;
    }

    double cost() const { return cost_; }
    CutChoices take() { return std::move(choices_); }

private:
    // How the tensors lie now, and what each operation costs.
    void settle() {
        layouts_ = search_.begin_;
        before_.clear();
        steps_.clear();
        own_.clear();
        cost_ = 0;
        for (size_t o = 0; o < choices_.size(); o++) {
            const auto& tensors = search_.frames_[o].tensors;
            State before;
            for (TensorId t : tensors) before.push_back(layouts_[t]);
            const Layouts::Step& step = search_.layouts_.step(choices_[o]->cost, before);
            for (size_t i = 0; i < tensors.size(); i++) layouts_[tensors[i]] = step.after[i];
            const auto number = static_cast<size_t>(std::ranges::find(search_.table_.choices[o], choices_[o]) -
                                                    search_.table_.choices[o].begin());
            own_.push_back(alone_[o][number] + search_.sent(step, weights_));
            cost_ += own_.back();
            before_.push_back(std::move(before));
            steps_.push_back(&step);
        }
        for (TensorId t : outputs()) cost_ += search_.gathered(t, layouts_[t], weights_);
    }

    std::vector<TensorId> outputs() const {
        std::vector<TensorId> list = search_.graph_.outputs;
        std::ranges::sort(list);
        const auto again = std::ranges::unique(list);
        list.erase(again.begin(), again.end());
        return list;
    }

    // Of the whole with another cut of one operation: only what reads tensors that then lie otherwise is looked at.
    double difference(size_t operation, size_t choice) {
        std::ranges::fill(changed_, LayoutId{});
        double difference = 0;
        size_t open = 0;
        for (size_t o = operation; o < choices_.size() && (o == operation || open > 0); o++) {
            const auto& tensors = search_.frames_[o].tensors;
            const auto is_changed = [&](TensorId t) { return changed_[t] != LayoutId{}; };
            if (o != operation && std::ranges::none_of(tensors, is_changed)) continue;
            State before = before_[o];
            for (size_t i = 0; i < tensors.size(); i++)
                if (is_changed(tensors[i])) before[i] = changed_[tensors[i]];
            const CutChoice* const cut = o == operation ? search_.table_.choices[o][choice] : choices_[o];
            const Layouts::Step& step = search_.layouts_.step(cut->cost, before);
            const Layouts::Step& settled = *steps_[o];
            difference += search_.sent(step, weights_) - search_.sent(settled, weights_);
            for (size_t i = 0; i < tensors.size(); i++) {
                const bool matters =
                    search_.last_read_[tensors[i]] > static_cast<int32_t>(o) || search_.asked_.contains(tensors[i]);
                const bool differs = matters && step.after[i] != settled.after[i];
                if (differs != is_changed(tensors[i])) open = differs ? open + 1 : open - 1;
                changed_[tensors[i]] = differs ? step.after[i] : LayoutId{};
            }
        }
        const auto& choices = search_.table_.choices[operation];
        const auto number = static_cast<size_t>(std::ranges::find(choices, choices_[operation]) - choices.begin());
        difference += alone_[operation][choice] - alone_[operation][number];
        for (TensorId t : outputs())
            if (changed_[t] != LayoutId{})
                difference += search_.gathered(t, changed_[t], weights_) - search_.gathered(t, layouts_[t], weights_);
        return difference;
    }

    CutSearch& search_;
    const CutWeights& weights_;
    const std::vector<std::vector<double>>& alone_;
    CutChoices choices_;
    double cost_ = 0;
    std::vector<LayoutId> layouts_;  // by TensorId, at the end
    std::vector<State> before_;      // by operation
    std::vector<const Layouts::Step*> steps_;
    std::vector<double> own_;
    std::vector<LayoutId> changed_;  // by TensorId, while one exchange is tried
};

FoundCuts CutSearch::search(const CutWeights& weights, const SearchEffort& effort) {
    const auto alone = costs_alone(weights);
    // One state at a time gives a first bound; there is always such a way.
    const auto never = [] { return false; };
    FoundCuts found = Pass(*this, weights, alone, 1, infinite).run(never);
    if (effort.first_beam > 1) {
        FoundCuts better = Pass(*this, weights, alone, effort.first_beam, found.cost).run(never);
        found.is_least = better.is_least;
        if (better.cost < found.cost) found = std::move(better);
    }
    if (found.is_least) return found;
    Exchange exchange(*this, weights, alone, std::move(found.choices));
    for (int i = 0; i < effort.exchanges && exchange.improve(effort.stop); i++) {
    }
    found.cost = exchange.cost();
    found.choices = exchange.take();
    if (effort.beam <= effort.first_beam || effort.stop()) return found;
    FoundCuts second = Pass(*this, weights, alone, effort.beam, found.cost).run(effort.stop);
    found.is_least = second.is_least;
    if (second.cost < found.cost) found = std::move(second);
    return found;
}

CutCosts CutSearch::costs(const CutChoices& choices) const {
    const size_t places = layouts_.elements(Layouts::everywhere).size();
    CutCosts costs{.out = std::vector<int64_t>(places), .in = std::vector<int64_t>(places)};
    const auto count = [&](const Layouts::Step& step) {
        costs.send_seconds += step.seconds;
        costs.bytes += step.sent.bytes;
        for (size_t p = 0; p < places; p++) {
            costs.out[p] += step.sent.out[p];
            costs.in[p] += step.sent.in[p];
        }
    };
    std::vector<LayoutId> layouts = begin_;
    std::map<std::pair<PlaceId, TensorId>, std::vector<Box>> given;
    std::vector<int64_t> peak(places), held(places);  // of what is made
    const auto hold = [&](TensorId t, int64_t sign) {
        const auto& elements = layouts_.elements(layouts[t]);
        for (size_t p = 0; p < places; p++) held[p] += sign * elements[p] * bytes(graph_.tensor(t).type.dtype);
    };
    for (TensorId t : live_) hold(t, 1);
    for (size_t o = 0; o < choices.size(); o++) {
        const auto& tensors = frames_[o].tensors;
        State before;
        for (TensorId t : tensors) before.push_back(layouts[t]);
        const Layouts::Step& step = layouts_.step(choices[o]->cost, before);
        costs.compute_seconds += choices[o]->seconds;
        costs.launches += choices[o]->launches;
        count(step);
        for (size_t i = 0; i < tensors.size(); i++) {
            if (given_[tensors[i]]) continue;
            hold(tensors[i], -1);
            layouts[tensors[i]] = step.after[i];
            hold(tensors[i], 1);
        }
        for (size_t p = 0; p < places; p++) peak[p] = std::max(peak[p], held[p] + step.inner_bytes[p]);
        for (TensorId t : tensors)
            if (!given_[t] && last_read_[t] == static_cast<int32_t>(o) && !asked_.contains(t)) hold(t, -1);
        for (const Touched& work : choices[o]->cost.touched)
            for (const auto& [tensor, box] : work.reads)
                if (const auto n = static_cast<size_t>(tensor.number()); n < tensors.size() && given_[tensors[n]])
                    given[{work.place, tensors[n]}].push_back(box);
    }
    costs.made = layouts;
    for (const auto& [output, asked] : asked_) {
        for (const auto& [reader, box] : asked) {
            if (given_[output]) continue;
            const auto step = layouts_.gather(layouts[output], graph_.tensor(output).type.dtype, box, reader);
            count(step);
            hold(output, -1);
            layouts[output] = step.after.front();
            hold(output, 1);
        }
    }
    for (size_t p = 0; p < places; p++) peak[p] = std::max(peak[p], held[p]);
    for (const auto& [where, boxes] : given)
        peak[where.first] += elements_of(boxes) * bytes(graph_.tensor(where.second).type.dtype);
    costs.peak_bytes = std::ranges::max(peak);
    return costs;
}

}  // namespace heddle::placing
