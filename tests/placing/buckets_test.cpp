// Which values of a step go together as one message.
#include <gtest/gtest.h>

#include "helpers/programs.h"
#include "placing/buckets.h"

namespace heddle::placing {
namespace {

using Numbers = std::vector<size_t>;
constexpr double latency = 1e-3, bandwidth = 1e6;  // 1000 bytes take as long as the first of them

TEST(Buckets, WhatIsSmallGoesTogether) {
    EXPECT_EQ(buckets_of({{0, 100}, {1, 100}, {2, 100}}, latency, bandwidth), (Numbers{0, 0, 0}));
    // The second value makes it worth its latency; what is ready with it goes with it.
    EXPECT_EQ(buckets_of({{0, 2000}, {1, 2000}, {1.0005, 1}, {2, 1}}, latency, bandwidth), (Numbers{0, 0, 0, 1}));
}

TEST(Buckets, WhatIsLargeLeavesWhenItIsReady) {
    EXPECT_EQ(buckets_of({{3, 5000}, {1, 5000}, {2, 5000}}, latency, bandwidth), (Numbers{2, 0, 1}));
    EXPECT_EQ(buckets_of({{1, 5000}, {1, 5000}, {1, 5000}}, latency, bandwidth), (Numbers{0, 0, 0}));
}

// However many small values follow, no message waits for all of them.
TEST(Buckets, ManyInARowAreSeveralMessages) {
    std::vector<Leaving> values;
    for (int i = 0; i < 100; i++) values.push_back({i * latency / 2, 4000});
    const Numbers numbers = buckets_of(values, latency, bandwidth);
    EXPECT_TRUE(std::ranges::is_sorted(numbers));
    EXPECT_EQ(numbers.back(), 33U);
}

TEST(Buckets, ValuesWithoutBytesAndLinksWithoutLatency) {
    EXPECT_EQ(buckets_of({{0, 0}, {1, 0}, {2, 0}}, 0, bandwidth), (Numbers{0, 0, 0}));
    EXPECT_EQ(buckets_of({{0, 4}, {1, 4}, {1, 4}}, 0, bandwidth), (Numbers{0, 1, 1}));
}

TEST(Buckets, AnOutputIsCompleteWhenWhatItNeedsIsComputed) {
    Graph graph = graph_of("a = exp(x); b = tanh(a); c = tanh(x); y = add2(add2(b, c), a)", {input("x", {4, 8})});
    const auto seconds_of = [&](const std::vector<size_t>& operations) {
        graph.outputs.clear();
        for (size_t o : operations) graph.outputs.push_back(graph.operations[o].outputs[0]);
        return seconds_to_outputs(graph, Target{});
    };
    const auto all = seconds_of({1, 2, 0});  // b, c, a
    EXPECT_LT(0, all[1]);
    EXPECT_LT(all[1], all[2]);
    EXPECT_LT(all[2], all[0]);
    EXPECT_LT(seconds_of({1})[0], all[0]);  // without c
    EXPECT_EQ(seconds_of({1, 1}), std::vector<double>(2, seconds_of({1})[0]));
}

}  // namespace
}  // namespace heddle::placing
