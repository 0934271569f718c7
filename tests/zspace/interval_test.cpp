// Intervals, their sums and linear forms, against all members of random small ones.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "zspace/checked.h"
#include "zspace/linear_form.h"

namespace heddle {
namespace {

Interval random_interval(std::mt19937& random) {
    const int64_t low = static_cast<int64_t>(random() % 25) - 12;
    return {low, low + static_cast<int64_t>(random() % 9)};
}

using Binary = std::function<int64_t(int64_t, int64_t)>;
using OnIntervals = std::function<Interval(Interval, Interval)>;
struct Case {
    const char* name;
    Binary value;
    OnIntervals interval;
    bool exact;  // the ends are taken
};

int64_t by_zero(int64_t a, int64_t b, int64_t (*divide)(int64_t, int64_t)) { return b == 0 ? 0 : divide(a, b); }

const std::vector<Case> cases = {
    {"+", [](int64_t a, int64_t b) { return a + b; }, [](Interval a, Interval b) { return a + b; }, true},
    {"-", [](int64_t a, int64_t b) { return a - b; }, [](Interval a, Interval b) { return a - b; }, true},
    {"*", [](int64_t a, int64_t b) { return a * b; }, [](Interval a, Interval b) { return a * b; }, true},
    {"negated", [](int64_t a, int64_t) { return -a; }, [](Interval a, Interval) { return -a; }, true},
    {"magnitude", [](int64_t a, int64_t) { return std::abs(a); }, [](Interval a, Interval) { return magnitude(a); },
     true},
    {"minimum", [](int64_t a, int64_t b) { return std::min(a, b); },
     [](Interval a, Interval b) { return minimum(a, b); }, true},
    {"maximum", [](int64_t a, int64_t b) { return std::max(a, b); },
     [](Interval a, Interval b) { return maximum(a, b); }, true},
    {"floor_divide", [](int64_t a, int64_t b) { return by_zero(a, b, floor_divide); },
     [](Interval a, Interval b) { return floor_divide(a, b); }, false},
    {"floor_modulo", [](int64_t a, int64_t b) { return by_zero(a, b, floor_modulo); },
     [](Interval a, Interval b) { return floor_modulo(a, b); }, false},
    {"truncated_divide", [](int64_t a, int64_t b) { return b == 0 ? 0 : a / b; },
     [](Interval a, Interval b) { return truncated_divide(a, b); }, false},
    {"truncated_remainder", [](int64_t a, int64_t b) { return b == 0 ? 0 : a % b; },
     [](Interval a, Interval b) { return truncated_remainder(a, b); }, false},
};

// Every pair of members gives a member; the ends are exact where the operation's are.
TEST(Interval, HoldsWhatItsMembersGive) {
    std::mt19937 random(1);
    for (const Case& one : cases) {
        for (int round = 0; round < 2'000; ++round) {
            const Interval a = random_interval(random), b = random_interval(random);
            const Interval found = one.interval(a, b);
            int64_t low = INT64_MAX, high = INT64_MIN;
            for (int64_t x = a.low; x <= a.high; ++x) {
                for (int64_t y = b.low; y <= b.high; ++y) {
                    low = std::min(low, one.value(x, y));
                    high = std::max(high, one.value(x, y));
                }
            }
            ASSERT_TRUE(Interval({low, high}).within(found))
                << one.name << " " << a.low << ".." << a.high << ", " << b.low << ".." << b.high;
            if (one.exact) {
                EXPECT_EQ(found, (Interval{low, high})) << one.name;
            }
        }
    }
}

// With an end open, what members beyond any bound would give.
TEST(Interval, AnOpenEndIsInfinite) {
    std::mt19937 random(2);
    auto opened = [&](Interval& x) {
        const Interval finite = x;
        if (random() % 3 == 0) x.low = INT64_MIN;
        if (random() % 3 == 0) x.high = INT64_MAX;
        return Interval{x.known_low() ? finite.low : finite.low - 40, x.known_high() ? finite.high : finite.high + 40};
    };
    for (const Case& one : cases) {
        for (int round = 0; round < 500; ++round) {
            Interval a = random_interval(random), b = random_interval(random);
            const Interval some_a = opened(a), some_b = opened(b), found = one.interval(a, b);
            for (int64_t x = some_a.low; x <= some_a.high; ++x) {
                for (int64_t y = some_b.low; y <= some_b.high; ++y)
                    ASSERT_TRUE(Interval::point(one.value(x, y)).within(found)) << one.name << " " << x << ", " << y;
            }
        }
    }
    EXPECT_EQ((Interval{0, INT64_MAX} + Interval::point(3)), (Interval{3, INT64_MAX}));
    EXPECT_EQ((Interval{} * Interval::point(0)), Interval::point(0));
}

TEST(Interval, NothingIsKnownOfWhatLeavesTheType) {
    const Interval large = Interval::point(INT64_MAX - 1);
    EXPECT_EQ(large + Interval::point(1), Interval());
    EXPECT_EQ((Interval{0, INT64_MAX - 1} + Interval{0, 5}), Interval());
    EXPECT_EQ(large * large, Interval());
    EXPECT_EQ(-Interval::point(INT64_MIN + 1), Interval());
    // Only the whole of a sum must fit.
    IntervalSum sum(INT64_MAX - 1);
    sum.add(INT64_MAX - 1, Interval::point(INT64_MAX - 1));
    sum.add(-(INT64_MAX - 1), Interval::point(INT64_MAX - 1));
    sum.add(-1, Interval::below(8));
    EXPECT_EQ(sum.interval(), (Interval{INT64_MAX - 8, INT64_MAX - 1}));
}

TEST(LinearForm, SumsAndIntervalsAreThoseOfTheirPoints) {
    std::mt19937 random(3);
    auto made = [&] {
        LinearForm<int> form{static_cast<int64_t>(random() % 20) - 10, {}};
        for (int atom = 0; atom < 5; ++atom)
            if (int64_t factor = static_cast<int64_t>(random() % 7) - 3; factor != 0)
                form.terms.emplace_back(atom, factor);
        return form;
    };
    auto value = [](const LinearForm<int>& form, const std::vector<int64_t>& point) {
        int64_t sum = form.constant;
        for (const auto& [atom, factor] : form.terms) sum += factor * point[static_cast<size_t>(atom)];
        return sum;
    };
    for (int round = 0; round < 5'000; ++round) {
        const LinearForm<int> a = made(), b = made();
        const int64_t factor = static_cast<int64_t>(random() % 9) - 4;
        const auto sum = linear_sum(a, b, factor);
        ASSERT_TRUE(sum);
        std::vector<Interval> ranges;
        std::vector<int64_t> point;
        for (int atom = 0; atom < 5; ++atom) {
            ranges.push_back(random_interval(random));
            point.push_back(ranges.back().low +
                            static_cast<int64_t>(random() % 3) % (ranges.back().high - ranges.back().low + 1));
        }
        EXPECT_EQ(value(*sum, point), value(a, point) + factor * value(b, point));
        for (const auto& [atom, coefficient] : sum->terms) EXPECT_EQ(coefficient, sum->coefficient(atom));
        const Interval found = interval_of(*sum, [&](int atom) { return ranges[static_cast<size_t>(atom)]; });
        EXPECT_TRUE(Interval::point(value(*sum, point)).within(found));
    }
    EXPECT_FALSE(linear_sum<int>({INT64_MAX, {}}, {1, {}}, 1));
    EXPECT_FALSE(linear_sum<int>({0, {{0, INT64_MAX}}}, {0, {{0, 1}}}, 1));
}

}  // namespace
}  // namespace heddle
