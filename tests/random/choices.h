// The choices that a random program is made of: drawn by a seed, and kept, so that a smaller program can be made from
// fewer or smaller ones. By convention 0 is the simplest answer to every question.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace heddle::random {

class Choices {
public:
    explicit Choices(uint64_t seed) : random_(seed), drawn_(true) {}
    // What was made before, perhaps changed; behind its end everything is 0.
    explicit Choices(std::vector<uint32_t> made) : given_(std::move(made)) {}

    // From 0 to below `count`, which is at least 1.
    int64_t below(int64_t count) {
        const uint32_t choice = next() % static_cast<uint32_t>(count);
        made_.push_back(choice);
        return choice;
    }
    // True once in `times`, on average.
    bool once_in(int64_t times) { return below(times) == times - 1; }
    template <typename List>
    const auto& one_of(const List& list) {
        return list[static_cast<size_t>(below(static_cast<int64_t>(list.size())))];
    }
    // A position of `weights`, each as often as its weight says.
    size_t weighted(const std::vector<int>& weights) {
        int64_t sum = 0;
        for (int weight : weights) sum += weight;
        int64_t left = below(sum);
        size_t position = 0;
        while (left >= weights[position]) left -= weights[position++];
        return position;
    }

    const std::vector<uint32_t>& made() const { return made_; }

private:
    uint32_t next() {
        if (drawn_) return static_cast<uint32_t>(random_() >> 16);
        return made_.size() < given_.size() ? given_[made_.size()] : 0;
    }

    std::mt19937_64 random_;
    bool drawn_ = false;
    std::vector<uint32_t> given_, made_;
};

}  // namespace heddle::random
