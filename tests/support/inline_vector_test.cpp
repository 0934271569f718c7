#include "support/inline_vector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

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

// The same steps on a standard vector, across the border between few and many elements.
TEST(InlineVector, IsAVector) {
    InlineVector<int32_t, 3> ours;
    std::vector<int32_t> theirs;
    for (int32_t step = 0; step < 400; ++step) {
        const std::vector<int32_t> more = {step, -step, 7};
        size_t at = theirs.empty() ? 0 : static_cast<size_t>(step * 31) % theirs.size();
        auto here = static_cast<std::ptrdiff_t>(at);
        switch (step * 7 % 11) {
        case 0: ours.insert(ours.begin() + at, step), theirs.insert(theirs.begin() + here, step); break;
        case 1: ours.append(more.begin(), more.end()), theirs.insert(theirs.end(), more.begin(), more.end()); break;
        case 2: ours.resize(step % 9, step), theirs.resize(static_cast<size_t>(step % 9), step); break;
        case 3: ours = more, theirs = more; break;
        case 4:
            ours.insert(ours.begin() + at, more.begin(), more.end());
            theirs.insert(theirs.begin() + here, more.begin(), more.end());
            break;
        case 5:
            if (!theirs.empty()) ours.erase(ours.begin() + at), theirs.erase(theirs.begin() + here);
            break;
        case 6: {
            InlineVector<int32_t, 3> moved = std::move(ours), copy = moved;
            EXPECT_TRUE(ours.empty());
            EXPECT_TRUE(copy == moved);
            ours = std::move(copy);
            break;
        }
        default: ours.push_back(step), theirs.push_back(step);
        }
        ASSERT_TRUE(std::ranges::equal(ours, theirs)) << "step " << step;
        if (!theirs.empty()) {
            ASSERT_EQ(ours.back(), theirs.back());
        }
    }
}

TEST(InlineVector, ComparesElements) {
    EXPECT_TRUE((InlineVector<int, 2>{1, 2} == InlineVector<int, 2>{1, 2}));
    EXPECT_FALSE((InlineVector<int, 2>{1, 2} == InlineVector<int, 2>{1, 2, 3}));
    EXPECT_TRUE((InlineVector<int, 2>(3, 7) == InlineVector<int, 2>{7, 7, 7}));
    EXPECT_TRUE((InlineVector<int, 2>().empty()));
    EXPECT_TRUE((InlineVector<int, 2>{1, 2} < InlineVector<int, 2>{1, 3}));
    EXPECT_TRUE((InlineVector<int, 2>{1, 2} < InlineVector<int, 2>{1, 2, 0}));
    EXPECT_FALSE((InlineVector<int, 2>{2} < InlineVector<int, 2>{1, 3, 4}));
}

}  // namespace
}  // namespace heddle
