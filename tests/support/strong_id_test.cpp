#include "support/strong_id.h"

#include <gtest/gtest.h>

#include <map>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace heddle {
namespace {

using Apple = StrongId<struct AppleTag>;
using Pear = StrongId<struct PearTag>;

// What must not compile: one id for another, and an integer that nobody called an id.
static_assert(!std::is_convertible_v<Apple, Pear> && !std::is_constructible_v<Pear, Apple>);
static_assert(!std::is_assignable_v<Pear&, Apple>);
static_assert(!std::is_convertible_v<int, Apple> && !std::is_assignable_v<Apple&, int>);
static_assert(!std::equality_comparable_with<Apple, Pear>);
template <typename A, typename B>
concept Ordered = requires(A a, B b) { a < b; };
template <typename A, typename B>
concept Equal = requires(A a, B b) { a == b; } || requires(A a, B b) { a != b; };
static_assert(Ordered<Apple, Apple> && !Ordered<Apple, Pear> && !Ordered<Pear, Apple>);
static_assert(Equal<Apple, Apple> && !Equal<Apple, Pear> && Equal<Apple, int> && Equal<Apple, NoId>);
// What costs nothing.
static_assert(sizeof(Apple) == sizeof(int32_t) && std::is_trivially_copyable_v<Apple>);
static_assert(std::is_constructible_v<Apple, size_t> && std::is_convertible_v<Apple, size_t>);
static_assert(!std::is_constructible_v<Apple, double> && !std::is_constructible_v<Apple, bool>);

TEST(StrongId, IsNoneUntilItIsGiven) {
    Apple apple;
    EXPECT_EQ(apple, no_id);
    EXPECT_LT(apple, 0);
    apple = Apple(0);
    EXPECT_NE(apple, no_id);
    apple = no_id;
    EXPECT_EQ(apple.number(), -1);
}

TEST(StrongId, IndexesAndCounts) {
    const std::vector<int> weights = {5, 7, 9};
    int sum = 0;
    std::vector<Apple> all;
    for (Apple apple(0); apple < next_id<Apple>(weights); ++apple) {
        sum += weights[apple];
        all.push_back(apple);
    }
    EXPECT_EQ(sum, 21);
    EXPECT_EQ(all, (std::vector{Apple(0), Apple(1), Apple(2)}));
    EXPECT_EQ(last_id<Apple>(weights), all.back());
    EXPECT_EQ(next_id<Apple>(weights), Apple(3));
    Apple apple = all[0]++;
    EXPECT_EQ(apple, Apple(0));
    EXPECT_EQ(++apple, all[0]);
}

TEST(StrongId, IsAKey) {
    std::map<Apple, int> ordered = {{Apple(3), 1}, {Apple(-1), 2}, {Apple(1), 3}};
    EXPECT_EQ(ordered.begin()->first, no_id);
    std::unordered_map<Pear, int> hashed;
    for (int i = 0; i < 1000; ++i) hashed[Pear(i)] = i;
    EXPECT_EQ(hashed.size(), 1000u);
    EXPECT_EQ(hashed.at(Pear(12)), 12);
}

}  // namespace
}  // namespace heddle
