// Solutions of linear equations against enumeration.
#include "zspace/linear_equation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

namespace heddle {
namespace {

bool solves(const LinearSolution& solution, int64_t rest, int64_t v) {
    if (rest % solution.divisor != 0) return false;
    const int64_t difference = v - solution.multiplier * (rest / solution.divisor);
    return solution.step == 0 ? difference == 0 : difference % solution.step == 0;
}

TEST(LinearEquation, IsSolvedOverTheIntegers) {
    for (int64_t factor = -7; factor <= 7; ++factor) {
        if (factor == 0) continue;
        for (int64_t rest = -50; rest <= 50; ++rest) {
            for (int64_t v = -60; v <= 60; ++v)
                ASSERT_EQ(solves(solution_for(factor), rest, v), factor * v == rest) << factor << " " << rest;
        }
    }
}

TEST(LinearEquation, IsSolvedModuloAPeriod) {
    for (int64_t period = 1; period <= 24; ++period) {
        for (int64_t factor = -30; factor <= 30; ++factor) {
            if (factor == 0) continue;
            const LinearSolution solution = solution_for(factor, period);
            EXPECT_TRUE(0 <= solution.multiplier && solution.multiplier < solution.step);
            for (int64_t rest = -40; rest <= 40; ++rest) {
                for (int64_t v = -30; v <= 30; ++v)
                    ASSERT_EQ(solves(solution, rest, v), (factor * v - rest) % period == 0)
                        << factor << " v == " << rest << " modulo " << period << ", v = " << v;
            }
        }
    }
    const int64_t prime = 2'147'483'647;
    EXPECT_EQ(solution_for(2, prime), (LinearSolution{1, (prime + 1) / 2, prime}));
}

// Random terms; every second time those of a mixed radix with perhaps one factor changed.
TEST(LinearEquation, MixedRadixTakesEachValueOnce) {
    std::mt19937 random(1);
    auto below = [&](int64_t count) { return static_cast<int64_t>(random() % static_cast<uint64_t>(count)); };
    int fitting = 0, others = 0;
    for (int round = 0; round < 6'000; ++round) {
        RadixDigits<int> digits;
        int64_t factor = 1, least = 0, most = 0;
        for (int atom = 0, count = static_cast<int>(below(4)); atom < count; ++atom) {
            const int64_t extent = 2 + below(4);
            digits.push_back({atom, round % 2 == 0 ? factor : below(9) - 1, extent});
            factor *= extent;
        }
        if (!digits.empty() && below(3) == 0)
            digits[static_cast<size_t>(below(static_cast<int64_t>(digits.size())))].factor += 1;
        for (auto& digit : digits) {
            if (below(4) == 0) digit.factor = -digit.factor;
            least += std::min<int64_t>(digit.factor, 0) * (digit.extent - 1);
        }
        most = least;
        std::ranges::shuffle(digits, random);
        const MixedRadix<int> radix = mixed_radix(digits);
        std::map<int64_t, int> times;
        std::vector<int64_t> point(digits.size());
        for (bool more = true; more;) {
            int64_t value = 0;
            for (size_t i = 0; i < digits.size(); ++i) value += digits[i].factor * point[i];
            times[value]++;
            most = std::max(most, value);
            if (radix.fits()) {
                // Each digit of the value, less the least one, is its atom, or that the other way round.
                for (size_t i = 0; i < digits.size(); ++i) {
                    const int64_t digit = (value - least) / std::abs(digits[i].factor) % digits[i].extent;
                    ASSERT_EQ(point[i], digits[i].factor < 0 ? digits[i].extent - 1 - digit : Size(digit));
                }
                for (const auto& digit : radix.digits)
                    ASSERT_EQ(digit.reversed, std::ranges::find(digits, digit.atom, &RadixDigit<int>::atom)->factor < 0);
            }
            more = false;
            for (size_t i = 0; i < digits.size() && !more; ++i) {
                more = ++point[i] < digits[i].extent;
                if (!more) point[i] = 0;
            }
        }
        const bool once = times.begin()->first == least && times.size() == static_cast<size_t>(most - least + 1) &&
                          std::ranges::all_of(times, [](const auto& entry) { return entry.second == 1; });
        ASSERT_EQ(radix.fits(), once);
        if (once) {
            EXPECT_EQ(radix.extent, most - least + 1);
        }
        ++(once ? fitting : others);
    }
    EXPECT_GT(fitting, 1'000);
    EXPECT_GT(others, 1'000);
}

TEST(LinearEquation, MixedRadixSaysWhatDoesNotFit) {
    const auto radix = mixed_radix(RadixDigits<char>{{'b', 4, 5}, {'a', 1, 3}});
    EXPECT_EQ(radix.fitting, 1u);
    EXPECT_EQ(radix.digits[radix.fitting].atom, 'b');
    EXPECT_EQ(radix.extent, 3);
    // Of equal factors the one of extent 1 comes first: it moves nothing.
    EXPECT_TRUE(mixed_radix(RadixDigits<char>{{'a', 1, 3}, {'b', 1, 1}}).fits());
    EXPECT_FALSE(mixed_radix(RadixDigits<char>{{'a', 1, INT64_MAX}, {'b', INT64_MAX, 3}}).fits());
}

}  // namespace
}  // namespace heddle
