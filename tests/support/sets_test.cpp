// Tables of numbers against plain ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "support/intern_table.h"
#include "support/union_find.h"

namespace heddle {
namespace {

// A hash of few bits, so that values collide, and one of none.
TEST(InternTable, GivesEachValueOneNumber) {
    for (size_t hashes : {1u, 7u, 100'000u}) {
        std::mt19937 random(1);
        InternTable table;
        std::vector<int> values;
        for (int round = 0; round < 3'000; ++round) {
            const int value = static_cast<int>(random() % 400);
            const size_t hash = mixed_hash(17, static_cast<size_t>(value) % hashes);
            const auto [number, added] =
                table.intern(hash, [&](int32_t n) { return values[static_cast<size_t>(n)] == value; });
            ASSERT_EQ(added, std::ranges::find(values, value) == values.end());
            if (added) values.push_back(value);
            ASSERT_EQ(values[static_cast<size_t>(number)], value);
        }
        EXPECT_EQ(values.size(), 400u);
    }
}

TEST(UnionFind, IsARelabelling) {
    std::mt19937 random(2);
    for (int round = 0; round < 200; ++round) {
        const int32_t count = 1 + static_cast<int32_t>(random() % 20);
        UnionFind<> sets(static_cast<size_t>(count));
        std::vector<int32_t> label(static_cast<size_t>(count));
        for (int32_t i = 0; i < count; ++i) label[static_cast<size_t>(i)] = i;
        for (int32_t joins = static_cast<int32_t>(random() % 30); joins > 0; --joins) {
            const auto a = static_cast<int32_t>(random() % static_cast<uint32_t>(count));
            const auto b = static_cast<int32_t>(random() % static_cast<uint32_t>(count));
            const int32_t root = sets.root(a), from = label[static_cast<size_t>(b)], to = label[static_cast<size_t>(a)];
            sets.join(a, b);
            EXPECT_EQ(sets.root(b), root);
            std::ranges::replace(label, from, to);
        }
        for (int32_t a = 0; a < count; ++a) {
            EXPECT_TRUE(sets.is_root(sets.root(a)));
            EXPECT_EQ(std::as_const(sets).root(a), sets.root(a));
            for (int32_t b = 0; b < count; ++b)
                ASSERT_EQ(sets.root(a) == sets.root(b), label[static_cast<size_t>(a)] == label[static_cast<size_t>(b)]);
        }
        for (int32_t a = 0; a < count; ++a) sets.separate(a);
        for (int32_t a = 0; a < count; ++a) EXPECT_EQ(sets.root(a), a);
        EXPECT_EQ(sets.add(), count);
    }
}

}  // namespace
}  // namespace heddle
