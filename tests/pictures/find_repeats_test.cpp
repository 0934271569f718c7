// What repeats is found, and nothing else is taken for it.
#include "pictures/find_repeats.h"

#include <gtest/gtest.h>

#include <random>

namespace heddle::pictures {
namespace {

struct Nodes {
    std::vector<std::string> says;
    std::vector<std::vector<size_t>> feeds;

    size_t add(std::string says_now, std::vector<size_t> from) {
        says.push_back(std::move(says_now));
        feeds.push_back(std::move(from));
        return says.size() - 1;
    }
    std::vector<Repeat> repeats() const { return find_repeats(says, feeds); }
};

// A mistake here is one of the test: it follows from the words of the header, node by node.
void expect_copies(const Nodes& nodes, const Repeat& repeat) {
    ASSERT_GE(repeat.count, 2u);
    ASSERT_LE(repeat.end(), nodes.says.size());
    auto copy_of = [&](size_t node) { return (node - repeat.begin) / repeat.length; };
    for (size_t node = repeat.begin + repeat.length; node < repeat.end(); node++) {
        const size_t before = node - repeat.length;
        EXPECT_EQ(nodes.says[node], nodes.says[before]);
        ASSERT_EQ(nodes.feeds[node].size(), nodes.feeds[before].size());
        for (size_t i = 0; i < nodes.feeds[node].size(); i++) {
            const size_t own = nodes.feeds[node][i], other = nodes.feeds[before][i];
            if (own < repeat.begin) {
                EXPECT_EQ(own, other) << "fed from in front";
            } else if (other >= repeat.begin) {
                EXPECT_EQ(own, other + repeat.length);
            } else {
                EXPECT_EQ(copy_of(node), 1u) << "only the first copy is fed from in front where others are not";
                EXPECT_EQ(copy_of(own), 0u);
            }
        }
    }
}

TEST(FindRepeats, a_chain_of_layers) {
    Nodes nodes;
    size_t last = nodes.add("input", {});
    const size_t mask = nodes.add("mask", {});
    for (int layer = 0; layer < 6; layer++) {
        const size_t product = nodes.add("matmul", {last});
        const size_t sum = nodes.add("add", {product, mask});
        last = nodes.add("residual", {sum, last});
    }
    nodes.add("output", {last});
    const auto repeats = nodes.repeats();
    ASSERT_EQ(repeats.size(), 1u);
    EXPECT_EQ(repeats[0].begin, 2u);
    EXPECT_EQ(repeats[0].length, 3u);
    EXPECT_EQ(repeats[0].count, 6u);
    EXPECT_TRUE(repeats[0].chained);
    expect_copies(nodes, repeats[0]);
}

TEST(FindRepeats, branches_side_by_side) {
    Nodes nodes;
    const size_t input = nodes.add("input", {});
    std::vector<size_t> heads;
    for (int head = 0; head < 8; head++) heads.push_back(nodes.add("softmax", {nodes.add("matmul", {input})}));
    nodes.add("concat", heads);
    const auto repeats = nodes.repeats();
    ASSERT_EQ(repeats.size(), 1u);
    EXPECT_EQ(repeats[0].count, 8u);
    EXPECT_FALSE(repeats[0].chained);
    expect_copies(nodes, repeats[0]);
}

TEST(FindRepeats, layers_that_differ_are_not_alike) {
    auto layers = [](auto change) {
        Nodes nodes;
        size_t last = nodes.add("input", {});
        const size_t other = nodes.add("other", {});
        for (int layer = 0; layer < 2; layer++) {
            const size_t a = nodes.add("a", {last}), b = nodes.add("b", {a});
            last = nodes.add("c", {b, a});
        }
        change(nodes, other);
        return nodes.repeats().size();
    };
    EXPECT_EQ(layers([](Nodes&, size_t) {}), 1u);
    EXPECT_EQ(layers([](Nodes& nodes, size_t) { nodes.says.back() = "d"; }), 0u);
    EXPECT_EQ(layers([](Nodes& nodes, size_t) { nodes.says.back() = ""; }), 0u);
    EXPECT_EQ(layers([](Nodes& nodes, size_t other) { nodes.feeds.back()[1] = other; }), 0u);
    EXPECT_EQ(layers([](Nodes& nodes, size_t) { std::swap(nodes.feeds.back()[0], nodes.feeds.back()[1]); }), 0u);
    EXPECT_EQ(layers([](Nodes& nodes, size_t) { nodes.feeds.back().pop_back(); }), 0u);
    // What is inside of the first layer is read behind the second.
    EXPECT_EQ(layers([](Nodes& nodes, size_t) { nodes.add("output", {3}); }), 0u);
}

// A prefix, layers of a random body, a suffix: at least that is found, and all that is found is right.
TEST(FindRepeats, random_layers) {
    std::mt19937 random(11);
    auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    for (int trial = 0; trial < 300; trial++) {
        Nodes nodes;
        for (size_t i = 0, count = 1 + below(4); i < count; i++)
            nodes.add("p" + std::to_string(below(3)), i == 0 ? std::vector<size_t>{} : std::vector<size_t>{below(i)});
        const size_t begin = nodes.says.size(), length = 1 + below(8), count = 2 + below(5);
        // A feed of a body: a node of it, what the copy before gives at its end, or a node in front.
        struct Feed {
            int kind = 0;
            size_t place = 0;
        };
        std::vector<std::vector<Feed>> body(length);
        for (size_t i = 0; i < length; i++) {
            for (size_t feeds = 1 + below(2); feeds > 0; feeds--) {
                const int kind = i == 0 ? 1 : static_cast<int>(below(3));
                body[i].push_back({kind, kind == 0 ? below(i) : below(begin)});
            }
        }
        for (size_t copy = 0; copy < count; copy++) {
            const size_t own = begin + copy * length;
            for (size_t i = 0; i < length; i++) {
                std::vector<size_t> from;
                for (const Feed& feed : body[i])
                    from.push_back(feed.kind == 0   ? own + feed.place
                                   : feed.kind == 2 ? feed.place
                                   : copy == 0      ? 0
                                                    : own - 1);
                nodes.add("b" + std::to_string(i), from);
            }
        }
        for (size_t i = 0, more = below(4); i < more; i++) nodes.add("s" + std::to_string(i), {nodes.says.size() - 1});
        size_t saved = 0, last = 0;
        for (const Repeat& repeat : nodes.repeats()) {
            expect_copies(nodes, repeat);
            EXPECT_GE(repeat.begin, last);
            last = repeat.end();
            saved += repeat.length * (repeat.count - 1);
        }
        if (length * (count - 1) >= 3) {
            EXPECT_GE(saved, length * (count - 1)) << "trial " << trial;
        }
    }
}

// All alike, or nearly so, in numbers that nobody draws: an answer in time.
TEST(FindRepeats, large_graphs) {
    Nodes nodes;
    for (size_t i = 0; i < 60'000; i++)
        nodes.add(i % 997 == 0 ? "b" : "a",
                  i == 0 ? std::vector<size_t>{} : std::vector<size_t>{i - 1 - (i > 1 ? i % 2 : 0)});
    for (const Repeat& repeat : nodes.repeats()) expect_copies(nodes, repeat);
}

}  // namespace
}  // namespace heddle::pictures
