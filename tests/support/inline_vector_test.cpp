#include "support/inline_vector.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace heddle {
namespace {

TEST(InlineVector, HoldsAsManyElementsAsAreAdded) {
    InlineVector<int64_t, 3> vector;
    for (int64_t i = 0; i < 10; ++i) {
        vector.push_back(i * i);
        ASSERT_EQ(vector.size(), static_cast<size_t>(i + 1));
        for (int64_t j = 0; j <= i; ++j) EXPECT_EQ(vector[static_cast<size_t>(j)], j * j);
    }
    InlineVector<int64_t, 3> copy = vector;
    copy[9] = 0;
    EXPECT_EQ(vector[9], 81);
    EXPECT_FALSE(copy == vector);
    copy[9] = 81;
    EXPECT_TRUE(copy == vector);
}

TEST(InlineVector, ComparesElements) {
    EXPECT_TRUE((InlineVector<int, 2>{1, 2} == InlineVector<int, 2>{1, 2}));
    EXPECT_FALSE((InlineVector<int, 2>{1, 2} == InlineVector<int, 2>{1, 2, 3}));
    EXPECT_TRUE((InlineVector<int, 2>(3, 7) == InlineVector<int, 2>{7, 7, 7}));
    EXPECT_TRUE((InlineVector<int, 2>().empty()));
}

}  // namespace
}  // namespace heddle
