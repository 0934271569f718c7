#include "pictures/find_repeats.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace heddle::pictures {
namespace {

constexpr size_t longest = 400;                 // nodes of a copy
constexpr size_t least_saved = 3;               // nodes that a run must save
constexpr int64_t most_compared = 200'000'000;  // nodes; graphs of hostile files are drawn as they are then

class RepeatFinder {
public:
    RepeatFinder(const std::vector<std::string>& says, const std::vector<std::vector<size_t>>& feeds)
        : feeds_(feeds), feeds_to_(feeds.size()) {
        std::map<std::string, size_t> numbers;
        for (size_t i = 0; i < says.size(); i++) {
            // A number of its own for what says nothing.
            says_.push_back(says[i].empty() ? says.size() + i : numbers.try_emplace(says[i], i).first->second);
            for (size_t from : feeds[i]) feeds_to_[from].push_back(i);
        }
    }

    std::vector<Repeat> run() {
        search(0, says_.size());
        std::ranges::sort(repeats_, {}, &Repeat::begin);
        return std::move(repeats_);
    }

private:
    struct Found {
        Repeat repeat;
        size_t saved = 0;
        std::pair<size_t, int64_t> entering = {};

        bool better_than(const Found& other) const {
            if (saved != other.saved) return saved > other.saved;
            if (repeat.length != other.repeat.length) return repeat.length < other.repeat.length;
            return entering < other.entering;
        }
    };

    void search(size_t begin, size_t end) {
        Found best{.repeat = {}, .saved = least_saved - 1};
        for (size_t length = 1; length <= std::min(longest, (end - begin) / 2) && left_ > 0; length++) {
            left_ -= static_cast<int64_t>(end - begin);
            for (size_t i = begin; i + length < end;) {
                size_t stop = i;
                while (stop + length < end && says_[stop] == says_[stop + length]) stop++;
                if (stop - i >= length && stop - i >= least_saved) try_starts(i, stop + length, length, best);
                i = stop + 1;
            }
        }
        if (best.repeat.count == 0) return;
        repeats_.push_back(best.repeat);
        search(begin, best.repeat.begin);
        search(best.repeat.end(), end);
    }

    // In [begin, end) each node says what the one `length` further says.
    void try_starts(size_t begin, size_t end, size_t length, Found& best) {
        for (size_t start = begin; start < begin + length && left_ > 0; start++) {
            const size_t most = (end - start) / length;
            if (most < 2 || (most - 1) * length < best.saved) return;
            const Found found = longest_run(start, length, most);
            if (found.repeat.count >= 2 && found.better_than(best)) best = found;
        }
    }

    Found longest_run(size_t begin, size_t length, size_t most) {
        Repeat repeat{begin, length, 1};
        while (repeat.count < most && is_fed_alike(repeat)) repeat.count++;
        while (repeat.count > 1 && !feeds_alike(repeat)) repeat.count--;
        left_ -= static_cast<int64_t>(most * length);
        return {repeat, length * (repeat.count - 1), entering(repeat)};
    }

    // Whether the nodes behind the run are another copy.
    bool is_fed_alike(Repeat& repeat) const {
        bool chained = repeat.chained;
        for (size_t node = repeat.end(); node < repeat.end() + repeat.length; node++) {
            const auto &own = feeds_[node], &before = feeds_[node - repeat.length];
            if (own.size() != before.size()) return false;
            for (size_t i = 0; i < own.size(); i++) {
                const bool inside = before[i] >= repeat.begin && own[i] == before[i] + repeat.length;
                const bool in_front = before[i] < repeat.begin && own[i] == before[i];
                const bool first =
                    repeat.count == 1 && before[i] < repeat.begin && own[i] >= repeat.begin && own[i] < repeat.end();
                if (!inside && !in_front && !first) return false;
                chained = chained || (own[i] >= repeat.begin && own[i] < repeat.end());
            }
        }
        repeat.chained = chained;
        return true;
    }

    // What copies but the last feed behind the run, all of them do.
    bool feeds_alike(const Repeat& repeat) const {
        for (size_t node = repeat.begin; node < repeat.begin + repeat.length; node++) {
            const std::set<size_t> first = fed_behind(node, repeat);
            for (size_t copy = 1; copy < repeat.count; copy++) {
                const std::set<size_t> own = fed_behind(node + copy * repeat.length, repeat);
                const bool last = copy + 1 == repeat.count;
                if (last ? !std::ranges::includes(own, first) : own != first) return false;
            }
        }
        return true;
    }

    std::set<size_t> fed_behind(size_t node, const Repeat& repeat) const {
        std::set<size_t> fed;
        for (size_t to : feeds_to_[node]) {
            if (to >= repeat.end()) fed.insert(to);
        }
        return fed;
    }

    // How many nodes of the first copy feed into the second or beyond, and, negative, how often: a layer begins behind
    // the one node that much reads.
    std::pair<size_t, int64_t> entering(const Repeat& repeat) const {
        if (repeat.count < 2) return {};
        const size_t second = repeat.begin + repeat.length;
        std::pair<size_t, int64_t> count;
        for (size_t node = repeat.begin; node < second; node++) {
            const auto often = std::ranges::count_if(feeds_to_[node], [&](size_t to) { return to >= second; });
            count.first += often > 0;
            count.second -= often;
        }
        return count;
    }

    std::vector<size_t> says_;
    const std::vector<std::vector<size_t>>& feeds_;
    std::vector<std::vector<size_t>> feeds_to_;
    std::vector<Repeat> repeats_;
    int64_t left_ = most_compared;
};

}  // namespace

std::vector<Repeat> find_repeats(const std::vector<std::string>& says, const std::vector<std::vector<size_t>>& feeds) {
    return RepeatFinder(says, feeds).run();
}

}  // namespace heddle::pictures
