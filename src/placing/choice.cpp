#include "placing/choice.h"

#include <algorithm>
#include <cmath>

#include "placing/minimum_cut.h"

namespace heddle::placing {

bool Choice::may_take(int32_t unit, int32_t location) const {
    return std::isfinite(seconds[static_cast<size_t>(unit)][static_cast<size_t>(location)]);
}

double Choice::copy_seconds(const Net& net, const std::vector<int32_t>& taken) const {
    const auto memory_of = [&](int32_t unit) {
        return locations[static_cast<size_t>(taken[static_cast<size_t>(unit)])].memory;
    };
    const MemoryId home = net.unit >= 0 ? memory_of(net.unit) : net.home;
    std::vector<bool> paid(memories, false);
    paid[home] = true;
    double sum = 0;
    const auto read = [&](MemoryId memory) {
        if (paid[memory]) return;
        paid[memory] = true;
        sum += (*net.seconds)[static_cast<size_t>(home) * memories + static_cast<size_t>(memory)];
    };
    for (int32_t reader : net.readers) read(memory_of(reader));
    for (MemoryId memory : net.read_in) read(memory);
    return sum;
}

double Choice::total(const std::vector<int32_t>& taken) const {
    double sum = 0;
    for (size_t u = 0; u < seconds.size(); u++) sum += seconds[u][static_cast<size_t>(taken[u])];
    for (const Net& net : nets) sum += copy_seconds(net, taken);
    return sum;
}

namespace {

// Capacities are picoseconds; what takes longer than most, or has no way at all, is as bad as it gets.
int64_t capacity(double seconds) {
    constexpr double most = 1e15;
    return static_cast<int64_t>(std::min(std::max(seconds, 0.0) * 1e12, most));
}

// One exchange: of the units at a or b, which are to be at b. Those at a are on the source's side.
class Swap {
public:
    Swap(const Choice& choice, const std::vector<int32_t>& taken, int32_t a, int32_t b)
        : choice_(choice), taken_(taken), a_(a), b_(b), node_(taken.size(), -1) {
        memory_a_ = choice.locations[static_cast<size_t>(a)].memory;
        memory_b_ = choice.locations[static_cast<size_t>(b)].memory;
    }

    std::vector<int32_t> best() {
        source_ = cut_.add_node();
        sink_ = cut_.add_node();
        for (size_t u = 0; u < taken_.size(); u++) add_unit(static_cast<int32_t>(u));
        if (memory_a_ != memory_b_) {
            for (const Net& net : choice_.nets) add_net(net);
        }
        const auto side = cut_.source_side(source_, sink_);
        std::vector<int32_t> better = taken_;
        for (size_t u = 0; u < taken_.size(); u++) {
            if (node_[u] >= 0) better[u] = side[static_cast<size_t>(node_[u])] ? a_ : b_;
        }
        return better;
    }

private:
    void add_unit(int32_t unit) {
        const auto u = static_cast<size_t>(unit);
        const bool here = taken_[u] == a_ || taken_[u] == b_;
        if (!here || !choice_.may_take(unit, a_) || !choice_.may_take(unit, b_)) return;
        node_[u] = cut_.add_node();
        const double at_a = choice_.seconds[u][static_cast<size_t>(a_)];
        const double at_b = choice_.seconds[u][static_cast<size_t>(b_)];
        const double common = std::min(at_a, at_b);
        cut_.add_edge(node_[u], sink_, capacity(at_a - common));
        cut_.add_edge(source_, node_[u], capacity(at_b - common));
    }

    double seconds(const Net& net, MemoryId from, MemoryId to) const {
        return from == to ? 0 : (*net.seconds)[static_cast<size_t>(from) * choice_.memories + static_cast<size_t>(to)];
    }

    // A node that is on the source's side if any of the free readers is; null where a reader that stays decides.
    int32_t any_at_a(const std::vector<int32_t>& readers) {
        const int32_t any = cut_.add_node();
        for (int32_t r : readers) cut_.add_edge(r, any, MinimumCut::infinite);
        return any;
    }
    int32_t any_at_b(const std::vector<int32_t>& readers) {
        const int32_t any = cut_.add_node();
        for (int32_t r : readers) cut_.add_edge(any, r, MinimumCut::infinite);
        return any;
    }

    void add_net(const Net& net) {
        std::vector<int32_t> free;  // readers that this exchange decides
        std::vector<bool> fixed(choice_.memories, false);
        for (int32_t r : net.readers) {
            const auto reader = static_cast<size_t>(r);
            if (node_[reader] >= 0)
                free.push_back(node_[reader]);
            else
                fixed[choice_.locations[static_cast<size_t>(taken_[reader])].memory] = true;
        }
        for (MemoryId memory : net.read_in) fixed[memory] = true;
        const int32_t maker = net.unit >= 0 ? node_[static_cast<size_t>(net.unit)] : -1;
        if (maker < 0) {
            const MemoryId home =
                net.unit >= 0 ? choice_.locations[static_cast<size_t>(taken_[static_cast<size_t>(net.unit)])].memory
                              : net.home;
            add_readers(net, home, free, fixed);
            return;
        }
        double at_a = 0, at_b = 0;  // what readers that stay cost, by where it is made
        for (size_t m = 0; m < fixed.size(); m++) {
            if (!fixed[m]) continue;
            at_a += seconds(net, memory_a_, MemoryId(m));
            at_b += seconds(net, memory_b_, MemoryId(m));
        }
        cut_.add_edge(maker, sink_, capacity(at_a));
        cut_.add_edge(source_, maker, capacity(at_b));
        if (free.empty()) return;
        // Made at b and read at a, by those that are free alone; and the other way.
        if (!fixed[memory_a_]) cut_.add_edge(any_at_a(free), maker, capacity(seconds(net, memory_b_, memory_a_)));
        if (!fixed[memory_b_]) cut_.add_edge(maker, any_at_b(free), capacity(seconds(net, memory_a_, memory_b_)));
    }

    // Of a tensor that stays where it is.
    void add_readers(const Net& net, MemoryId home, const std::vector<int32_t>& free, const std::vector<bool>& fixed) {
        if (free.empty()) return;
        if (!fixed[memory_a_]) cut_.add_edge(any_at_a(free), sink_, capacity(seconds(net, home, memory_a_)));
        if (!fixed[memory_b_]) cut_.add_edge(source_, any_at_b(free), capacity(seconds(net, home, memory_b_)));
    }

    const Choice& choice_;
    const std::vector<int32_t>& taken_;
    const int32_t a_, b_;
    MemoryId memory_a_, memory_b_;
    MinimumCut cut_;
    int32_t source_ = -1, sink_ = -1;
    std::vector<int32_t> node_;  // of each unit that is free; else -1
};

// Each unit at this location, or where it is fastest alone.
std::vector<int32_t> beginning(const Choice& choice, int32_t location) {
    std::vector<int32_t> taken;
    for (size_t u = 0; u < choice.seconds.size(); u++) {
        const auto& seconds = choice.seconds[u];
        const bool wanted = location >= 0 && choice.may_take(static_cast<int32_t>(u), location);
        const auto fastest = std::ranges::min_element(seconds) - seconds.begin();
        taken.push_back(wanted ? location : static_cast<int32_t>(fastest));
    }
    return taken;
}

// Whether a unit at one of them may go to the other.
bool can_exchange(const Choice& choice, const std::vector<int32_t>& taken, int32_t a, int32_t b) {
    for (size_t u = 0; u < taken.size(); u++) {
        const auto unit = static_cast<int32_t>(u);
        if ((taken[u] == a && choice.may_take(unit, b)) || (taken[u] == b && choice.may_take(unit, a))) return true;
    }
    return false;
}

// `work`: how many nodes of networks may still be looked at; what is found by then is as good as any.
std::vector<int32_t> improved(const Choice& choice, std::vector<int32_t> taken, int64_t& work) {
    const auto locations = static_cast<int32_t>(choice.locations.size());
    const auto nodes = static_cast<int64_t>(taken.size() + choice.nets.size());
    double least = choice.total(taken);
    for (bool better = true; better;) {
        better = false;
        for (int32_t a = 0; a < locations; a++) {
            for (int32_t b = a + 1; b < locations; b++) {
                if (!can_exchange(choice, taken, a, b)) continue;
                if (locations > 2 && (work -= nodes) < 0) return taken;
                auto other = Swap(choice, taken, b, a).best();  // as few at b as possible
                const double total = choice.total(other);
                // By more than what is lost in picoseconds, so that this ends.
                if (total >= least - 1e-12 * static_cast<double>(taken.size() + 1)) continue;
                taken = std::move(other);
                least = total;
                better = locations > 2;
            }
        }
    }
    return taken;
}

}  // namespace

std::vector<int32_t> choose(const Choice& choice) {
    constexpr size_t most_beginnings = 4;
    constexpr int64_t most_work = 5'000'000;
    const auto locations = static_cast<int32_t>(choice.locations.size());
    std::vector<std::pair<double, std::vector<int32_t>>> beginnings;
    for (int32_t location = -1; location < locations; location++) {
        auto taken = beginning(choice, location);
        const double total = choice.total(taken);
        beginnings.emplace_back(total, std::move(taken));
    }
    std::ranges::stable_sort(beginnings, {}, [](const auto& b) { return b.first; });
    if (beginnings.size() > most_beginnings) beginnings.resize(most_beginnings);
    int64_t work = most_work;
    std::vector<int32_t> best;
    double least = 0;
    for (auto& [total, taken] : beginnings) {
        auto better = improved(choice, std::move(taken), work);
        const double reached = choice.total(better);
        if (best.empty() || reached < least) {
            best = std::move(better);
            least = reached;
        }
        if (locations <= 2) break;
    }
    return best;
}

}  // namespace heddle::placing
