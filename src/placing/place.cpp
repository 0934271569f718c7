#include "placing/placement.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "placing/choice.h"
#include "placing/memory_use.h"
#include "support/union_find.h"

namespace heddle::placing {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

class Placer {
public:
    Placer(const Graph& graph, const System& system, const Annotations& annotations, const PlaceOptions& options)
        : graph_(graph), system_(system), annotations_(annotations), options_(options) {}

    Result<Placement> place() {
        find_caller();
        find_units();
        join_wishes();
        if (!problems_.empty()) return fail(std::move(problems_));
        follow_neighbours();
        make_choice();
        taken_ = choose(choice_);
        if (auto fits = make_room(); !fits) return fail(std::move(fits.error()));
        auto placement = finish();
        if (!placement) return placement;
        explain(*placement);
        return placement;
    }

private:
    void find_caller() {
        caller_ = options_.caller != no_id ? options_.caller : system_.host;
        if (caller_ == no_id) caller_ = DeviceId(0);
        caller_memory_ = system_.default_location(caller_).memory;
        locations_ = options_.candidates;
        if (!locations_.empty()) return;
        // The caller's first: it is preferred where it makes no difference.
        if (system_.device(caller_).target->kind != "library") locations_.push_back(system_.default_location(caller_));
        for (size_t d = 0; d < system_.devices.size(); d++) {
            if (system_.devices[d].target->kind != "library" && DeviceId(d) != caller_)
                locations_.push_back(system_.default_location(DeviceId(d)));
        }
        if (locations_.empty()) locations_.push_back(system_.default_location(DeviceId(0)));
    }

    // Operations that write one tensor run together.
    void find_units() {
        const size_t operations = graph_.operations.size();
        UnionFind<int32_t> sets(operations);
        makers_.assign(graph_.tensors.size(), {});
        readers_.assign(graph_.tensors.size(), {});
        for (size_t o = 0; o < operations; o++) {
            for (TensorId t : graph_.operations[o].outputs) makers_[t].push_back(static_cast<int32_t>(o));
            for (TensorId t : graph_.operations[o].inputs) readers_[t].push_back(static_cast<int32_t>(o));
        }
        for (const auto& makers : makers_) {
            for (int32_t o : makers) sets.join(makers.front(), o);
        }
        std::map<int32_t, int32_t> number;
        for (size_t o = 0; o < operations; o++) {
            const int32_t root = sets.root(static_cast<int32_t>(o));
            unit_of_.push_back(number.try_emplace(root, static_cast<int32_t>(number.size())).first->second);
        }
        wishes_.resize(number.size());
        causes_.resize(number.size());
        rules_.assign(number.size(), Decision::Rule::cheapest);
    }

    int32_t maker(TensorId t) const {
        return makers_[t].empty() ? -1 : unit_of_[static_cast<size_t>(makers_[t].front())];
    }

    void add_wish(int32_t unit, const Wish& wish, const std::string& name) {
        auto& known = wishes_[static_cast<size_t>(unit)];
        auto& cause = causes_[static_cast<size_t>(unit)];
        const auto both = join(known, wish);
        if (both) {
            known = *both;
            if (cause.empty()) cause = name;
            return;
        }
        problems_.push_back({.code = "placing.conflict",
                             .summary = fmt::format("'{}' is wanted on {}, and '{}', which is made with it, on {}",
                                                    cause, known.text(), name, wish.text()),
                             .reason = "what makes a tensor runs where the tensor lies",
                             .remedy = "annotate one of them, and let what reads it there have a copy",
                             .params = {{"first", cause}, {"second", name}}});
    }

    void join_wishes() {
        for (const auto& [o, wish] : annotations_.operations) add_wish(unit_of_[o], wish, graph_.operation(o).name);
        for (const auto& [t, wish] : annotations_.tensors) {
            if (maker(t) >= 0)
                add_wish(maker(t), wish, graph_.tensor(t).name);
            else if (auto where = locations_for(system_, wish))
                given_.emplace(t, where->front().memory);
            else
                problems_.insert(problems_.end(), where.error().begin(), where.error().end());
        }
        allowed_.assign(wishes_.size(), locations_);
        for (size_t u = 0; u < wishes_.size(); u++) {
            if (wishes_[u] == Wish{}) continue;
            rules_[u] = Decision::Rule::annotated;
            auto where = locations_for(system_, wishes_[u]);
            if (where)
                allowed_[u] = std::move(*where);
            else
                problems_.insert(problems_.end(), where.error().begin(), where.error().end());
        }
    }

    MemoryId home(TensorId t) const {
        const auto given = given_.find(t);
        return given == given_.end() ? caller_memory_ : given->second;
    }
    bool is_constant(TensorId t) const {
        return makers_[t].empty() && graph_.tensor(t).constant && !inputs_.contains(t);
    }
    bool goes_to_caller(TensorId t) const {
        return std::ranges::find(graph_.outputs, t) != graph_.outputs.end() && !annotations_.tensors.contains(t);
    }

    // Groups of units without annotations, and what stands around each.
    void follow_neighbours() {
        inputs_.insert(graph_.inputs.begin(), graph_.inputs.end());
        outputs_.insert(graph_.outputs.begin(), graph_.outputs.end());
        const auto is_free = [&](int32_t unit) {
            return rules_[static_cast<size_t>(unit)] == Decision::Rule::cheapest;
        };
        UnionFind<int32_t> groups(wishes_.size());
        for (size_t t = 0; t < graph_.tensors.size(); t++) join_free(TensorId(t), is_free, groups);
        struct Around {
            std::map<Location, std::string> annotated;
            bool caller = false, undecided = false;
        };
        std::map<int32_t, Around> around;
        for (size_t i = 0; i < graph_.tensors.size(); i++) {
            const TensorId t(i);
            if (is_constant(t)) continue;
            std::vector<int32_t> units = readers_of(t);
            if (maker(t) >= 0) units.push_back(maker(t));
            for (int32_t unit : units) {
                if (!is_free(unit)) continue;
                Around& here = around[groups.root(unit)];
                if (maker(t) < 0 && !given_.contains(t)) here.caller = true;
                if (maker(t) < 0 && given_.contains(t))
                    add_around(here.annotated, location_in(given_.at(t)), graph_.tensor(t).name);
                if (outputs_.contains(t) && maker(t) == unit) here.caller = true;
                for (int32_t other : units) {
                    const auto o = static_cast<size_t>(other);
                    if (is_free(other)) continue;
                    if (allowed_[o].size() > 1)
                        here.undecided = true;
                    else
                        add_around(here.annotated, allowed_[o].front(), causes_[o]);
                }
            }
        }
        for (size_t u = 0; u < wishes_.size(); u++) {
            if (!is_free(static_cast<int32_t>(u))) continue;
            const Around& here = around[groups.root(static_cast<int32_t>(u))];
            if (here.caller || here.undecided || here.annotated.size() != 1) continue;
            allowed_[u] = {here.annotated.begin()->first};
            causes_[u] = here.annotated.begin()->second;
            followers_.push_back(u);
        }
        for (size_t u : followers_) rules_[u] = Decision::Rule::neighbours;
    }

    static void add_around(std::map<Location, std::string>& annotated, const Location& location,
                           const std::string& name) {
        annotated.try_emplace(location, name);
    }

    template <typename IsFree>
    void join_free(TensorId t, const IsFree& is_free, UnionFind<int32_t>& groups) const {
        if (is_constant(t)) return;
        std::vector<int32_t> units = readers_of(t);
        if (maker(t) >= 0) units.push_back(maker(t));
        int32_t first = -1;
        for (int32_t unit : units) {
            if (!is_free(unit)) continue;
            if (first >= 0)
                groups.join(first, unit);
            else
                first = unit;
        }
    }

    // Of an annotated input: the device that the memory is named by.
    Location location_in(MemoryId memory) const {
        for (const Location& location : system_.locations()) {
            if (location.memory == memory) return location;
        }
        return {};
    }

    // Each once, without the one that makes it.
    std::vector<int32_t> readers_of(TensorId t) const {
        std::vector<int32_t> units;
        for (int32_t o : readers_[t]) {
            const int32_t unit = unit_of_[static_cast<size_t>(o)];
            if (unit != maker(t) && std::ranges::find(units, unit) == units.end()) units.push_back(unit);
        }
        return units;
    }

    void make_choice() {
        for (const auto& allowed : allowed_) {
            for (const Location& location : allowed) {
                if (std::ranges::find(locations_, location) == locations_.end()) locations_.push_back(location);
            }
        }
        work_ = work_of(graph_);
        choice_.locations = locations_;
        choice_.memories = system_.memories.size();
        choice_.seconds.assign(wishes_.size(), std::vector<double>(locations_.size(), 0));
        for (size_t u = 0; u < wishes_.size(); u++) {
            for (size_t l = 0; l < locations_.size(); l++) {
                if (std::ranges::find(allowed_[u], locations_[l]) == allowed_[u].end()) choice_.seconds[u][l] = never;
            }
        }
        for (size_t o = 0; o < graph_.operations.size(); o++) {
            auto& row = choice_.seconds[static_cast<size_t>(unit_of_[o])];
            for (size_t l = 0; l < locations_.size(); l++)
                row[l] += seconds(work_[o], *system_.device(locations_[l].device).target);
        }
        for (size_t t = 0; t < graph_.tensors.size(); t++) add_net(TensorId(t));
    }

    void add_net(TensorId t) {
        if (is_constant(t)) return;  // copied when the program is loaded
        Net net{.unit = maker(t), .home = home(t), .readers = readers_of(t)};
        if (goes_to_caller(t)) net.read_in.push_back(caller_memory_);
        if (net.readers.empty() && net.read_in.empty()) return;
        net.seconds = &copy_table(graph_.tensor(t).type.byte_size());
        choice_.nets.push_back(std::move(net));
    }

    const std::vector<double>& copy_table(int64_t bytes) {
        auto [found, added] = copy_tables_.try_emplace(bytes);
        if (!added) return found->second;
        found->second = system_.route_seconds(bytes);
        for (double& way : found->second) way = std::min(way, no_way_seconds);
        return found->second;
    }
    static constexpr double no_way_seconds = 1e6;  // worse than all that is likely, and still a number

    // Raises the price of memories that are too small until what is chosen fits.
    Result<void> make_room() {
        const std::vector<int64_t> bytes = bytes_of_units();
        double price = 1e-12;  // seconds a byte
        std::vector<double> prices(system_.memories.size(), 0);
        for (int round = 0;; round++) {
            const Placement placed = places();
            const auto full = too_full(placed);
            if (full.empty()) return {};
            constexpr int most_rounds = 40;
            if (round == most_rounds) return no_room(placed, full.front());
            for (MemoryId memory : full) prices[memory] = prices[memory] > 0 ? prices[memory] * 2 : price;
            Choice priced = choice_;
            for (size_t u = 0; u < wishes_.size(); u++) {
                for (size_t l = 0; l < locations_.size(); l++)
                    priced.seconds[u][l] += prices[locations_[l].memory] * static_cast<double>(bytes[u]);
            }
            auto other = choose(priced);
            by_memory_ = by_memory_ || other != taken_;
            taken_ = std::move(other);
        }
    }

    std::vector<int64_t> bytes_of_units() const {
        std::vector<int64_t> bytes(wishes_.size(), 0);
        for (size_t t = 0; t < graph_.tensors.size(); t++) {
            const int64_t size = graph_.tensors[t].type.byte_size();
            if (maker(TensorId(t)) >= 0) bytes[static_cast<size_t>(maker(TensorId(t)))] += size;
            for (int32_t unit : readers_of(TensorId(t))) bytes[static_cast<size_t>(unit)] += size;
        }
        return bytes;
    }

    std::vector<MemoryId> too_full(const Placement& placed) const {
        std::vector<MemoryId> full;
        for (size_t m = 0; m < system_.memories.size(); m++) {
            const int64_t bytes = system_.memories[m].bytes;
            if (bytes > 0 && placed.peak_bytes[m] > bytes) full.push_back(MemoryId(m));
        }
        return full;
    }

    std::unexpected<Diagnostics> no_room(const Placement& placed, MemoryId memory) const {
        const Memory& small = system_.memory(memory);
        return fail({.code = "placing.memory",
                     .summary = fmt::format("what lies on {} does not fit into its memory", small.text()),
                     .expected = fmt::format("at most {} bytes", small.bytes),
                     .found = fmt::format("{} bytes at once", placed.peak_bytes[memory]),
                     .reason = "what may lie elsewhere has gone there already",
                     .remedy = "annotate less there, or use a device with more memory",
                     .params = {{"memory", small.text()}}});
    }

    // What is chosen, without copies' routes and reasons.
    Placement places() const {
        Placement placement;
        placement.caller = caller_memory_;
        for (size_t o = 0; o < graph_.operations.size(); o++)
            placement.operations.push_back(locations_[static_cast<size_t>(taken_[static_cast<size_t>(unit_of_[o])])]);
        for (size_t i = 0; i < graph_.tensors.size(); i++) {
            const TensorId t(i);
            if (maker(t) >= 0) {
                placement.tensors.push_back(placement.operations[static_cast<size_t>(makers_[t].front())].memory);
            } else if (is_constant(t) && !given_.contains(t) && !readers_[t].empty()) {
                placement.tensors.push_back(placement.operations[static_cast<size_t>(readers_[t].front())].memory);
            } else {
                placement.tensors.push_back(home(t));
            }
        }
        for (size_t i = 0; i < graph_.tensors.size(); i++) {
            const TensorId t(i);
            std::set<MemoryId> wanted;
            for (int32_t o : readers_[t]) wanted.insert(placement.operations[static_cast<size_t>(o)].memory);
            if (goes_to_caller(t)) wanted.insert(caller_memory_);
            wanted.erase(placement.tensors[i]);
            for (MemoryId to : wanted) placement.copies.push_back({t, to, {}, is_constant(t)});
        }
        placement.peak_bytes = peak_bytes(graph_, system_, placement);
        return placement;
    }

    Result<Placement> finish() {
        Placement placement = places();
        for (Copy& copy : placement.copies) {
            const MemoryId from = placement.tensors[copy.tensor];
            copy.route = system_.route(from, copy.to, graph_.tensor(copy.tensor).type.byte_size());
            if (!copy.route.exists()) {
                return fail({.code = "placing.no_way",
                             .summary = fmt::format("'{}' is needed on {}, and no link leads there from {}",
                                                    graph_.tensor(copy.tensor).name, system_.memory(copy.to).text(),
                                                    system_.memory(from).text()),
                             .remedy = "add a link to the system, or place what reads it elsewhere",
                             .params = {{"tensor", graph_.tensor(copy.tensor).name}}});
            }
            if (!copy.at_load) placement.copy_seconds += copy.route.seconds;
        }
        for (size_t o = 0; o < graph_.operations.size(); o++)
            placement.compute_seconds += seconds(work_[o], *system_.device(placement.operations[o].device).target);
        return placement;
    }

    void explain(Placement& placement) const {
        std::vector<std::vector<size_t>> nets(wishes_.size());
        for (size_t n = 0; n < choice_.nets.size(); n++) {
            if (choice_.nets[n].unit >= 0) nets[static_cast<size_t>(choice_.nets[n].unit)].push_back(n);
            for (int32_t reader : choice_.nets[n].readers) nets[static_cast<size_t>(reader)].push_back(n);
        }
        std::vector<Decision> of_unit;
        for (size_t u = 0; u < wishes_.size(); u++) of_unit.push_back(decision(u, nets[u]));
        for (size_t o = 0; o < graph_.operations.size(); o++) {
            Decision decision = of_unit[static_cast<size_t>(unit_of_[o])];
            decision.seconds = seconds(work_[o], *system_.device(placement.operations[o].device).target);
            placement.decisions.push_back(std::move(decision));
        }
    }

    Decision decision(size_t unit, const std::vector<size_t>& nets) const {
        Decision decision{.rule = rules_[unit], .cause = causes_[unit]};
        if (decision.rule != Decision::Rule::cheapest) return decision;
        const auto copies = [&](const std::vector<int32_t>& taken) {
            double sum = 0;
            for (size_t n : nets) sum += choice_.copy_seconds(choice_.nets[n], taken);
            return sum;
        };
        const auto here = static_cast<size_t>(taken_[unit]);
        const double now = copies(taken_);
        double least = never;
        std::vector<int32_t> other = taken_;
        for (size_t l = 0; l < locations_.size(); l++) {
            if (l == here || !choice_.may_take(static_cast<int32_t>(unit), static_cast<int32_t>(l))) continue;
            other[unit] = static_cast<int32_t>(l);
            const double compute = choice_.seconds[unit][l] - choice_.seconds[unit][here];
            const double copying = copies(other) - now;
            if (compute + copying >= least) continue;
            least = compute + copying;
            decision.next = locations_[l];
            decision.compute = compute;
            decision.copies = copying;
        }
        decision.by_memory = by_memory_ && least < 0;
        return decision;
    }

    const Graph& graph_;
    const System& system_;
    const Annotations& annotations_;
    const PlaceOptions& options_;
    Diagnostics problems_;
    DeviceId caller_;
    MemoryId caller_memory_;
    std::vector<std::vector<int32_t>> makers_, readers_;  // by tensor: operations
    std::set<TensorId> inputs_, outputs_;
    std::vector<int32_t> unit_of_;  // by operation
    // By unit.
    std::vector<Wish> wishes_;
    std::vector<std::string> causes_;
    std::vector<Decision::Rule> rules_;
    std::vector<std::vector<Location>> allowed_;
    std::vector<size_t> followers_;
    std::map<TensorId, MemoryId> given_;  // annotated, and no operation makes it
    std::vector<Location> locations_;     // of the choice
    std::vector<OperationWork> work_;
    std::map<int64_t, std::vector<double>> copy_tables_;
    Choice choice_;
    std::vector<int32_t> taken_;
    bool by_memory_ = false;
};

}  // namespace

Result<Placement> place(const Graph& graph, const System& system, const Annotations& annotations,
                        const PlaceOptions& options) {
    return Placer(graph, system, annotations, options).place();
}

}  // namespace heddle::placing
