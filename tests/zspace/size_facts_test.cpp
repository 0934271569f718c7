// What sizes decide is told, and nothing else.
#include "zspace/size_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "zspace/interval.h"
#include "zspace/linear_form.h"
#include "zspace/size.h"

namespace heddle {
namespace {

// The facts' texts, in order of telling.
template <typename Visit>
std::vector<std::string> told(const Visit& visit) {
    SizeFacts facts;
    {
        const RecordingFacts recording(facts);
        visit();
    }
    std::vector<std::string> texts;
    for (const SizeFact& fact : facts.list()) texts.push_back(fact.text());
    return texts;
}

using Texts = std::vector<std::string>;

TEST(SizeFacts, comparisons_are_facts) {
    const Size n = named_size("n", 20), m = named_size("m", 5);
    EXPECT_EQ(told([&] { EXPECT_TRUE(n > 3); }), Texts{"n - 4 >= 0"});
    EXPECT_EQ(told([&] { EXPECT_FALSE(n < m); }), Texts{"n - m >= 0"});
    EXPECT_EQ(told([&] { EXPECT_TRUE(n != m); }), Texts{"n - m != 0"});
    EXPECT_EQ(told([&] { EXPECT_TRUE(n == 4 * m); }), Texts{"n - (4 * m) == 0"});
    EXPECT_EQ(told([&] { EXPECT_EQ(greater(n, m + 1).text(), "n"); }), Texts{"(n - m) - 1 >= 0"});
}

// Where they are equal either is right; so it is no fact that they are not.
TEST(SizeFacts, which_is_the_lesser_rules_out_no_equal_sizes) {
    const Size n = named_size("n", 20), m = named_size("m", 5);
    EXPECT_EQ(told([&] { EXPECT_EQ(greater(1, n).text(), "n"); }), Texts{"n - 1 >= 0"});
    EXPECT_EQ(told([&] { EXPECT_EQ(greater(0, n).text(), "n"); }), Texts{});
    EXPECT_EQ(told([&] { EXPECT_EQ(lesser(n, m).text(), "m"); }), Texts{"n - m >= 0"});
    EXPECT_EQ(told([&] { EXPECT_EQ(lesser(m, n).text(), "m"); }), Texts{"n - m >= 0"});
    EXPECT_EQ(told([&] { EXPECT_EQ(absolute(n - 3).text(), "n - 3"); }), Texts{"n - 3 >= 0"});
    EXPECT_EQ(told([&] { EXPECT_EQ(absolute(m - 9).number(), 4); }), Texts{"((-1) * m) + 9 >= 0"});
    for (int64_t a = -2; a <= 2; a++) {
        for (int64_t b = -2; b <= 2; b++) {
            const Size x = named_size("x", a), y = named_size("y", b);
            EXPECT_EQ(lesser(x, y).number(), std::min(a, b));
            EXPECT_EQ(greater(x, y).number(), std::max(a, b));
            EXPECT_EQ(absolute(x).number(), std::abs(a));
        }
    }
}

TEST(SizeFacts, a_plain_number_is_a_fact) {
    const Size n = named_size("n", 20);
    EXPECT_EQ(told([&] { EXPECT_EQ((n + 1).value(), 21); }), Texts{"n - 20 == 0"});
    EXPECT_EQ(told([&] {
                  const int64_t number = n;
                  EXPECT_EQ(number, 20);
              }),
              Texts{"n - 20 == 0"});
    EXPECT_EQ(told([&] { EXPECT_EQ(n.number(), 20); }), Texts{});
}

TEST(SizeFacts, what_holds_for_all_names_is_none) {
    const Size n = named_size("n", 20), m = named_size("m", 50);
    EXPECT_EQ(told([&] {
                  EXPECT_TRUE(n + 1 > n);
                  EXPECT_TRUE(n * m >= 0);
                  EXPECT_TRUE(2 * n == n + n);
                  EXPECT_TRUE((n * m) % n == 0);
                  EXPECT_TRUE(n < INT64_MAX);
                  EXPECT_TRUE(n.same_as(n) && !n.same_as(m) && !n.same_as(20));
                  EXPECT_TRUE(divides(4, 8 * n) && !divides(3, n));
                  EXPECT_EQ(maximum(n, m).number(), 50);
              }),
              (Texts{"n != 0"}));  // of the division
}

// An expression that could be the other one for no size of its class is a fact instead, which costs no generality.
TEST(SizeFacts, what_holds_for_a_class_decides_a_minimum) {
    const Size n = named_size("n", 20), m = named_size("m", 5);
    EXPECT_EQ(told([&] { EXPECT_EQ(maximum(n, m).text(), "n"); }), Texts{"n - m >= 0"});
    EXPECT_EQ(told([&] { EXPECT_EQ(minimum(maximum(-n - 1, -3), n).text(), "-3"); }), (Texts{"n - 2 >= 0"}));
    EXPECT_EQ(told([&] { EXPECT_EQ(minimum(n, 17).text(), "min(n, 17)"); }), Texts{});
    EXPECT_EQ(minimum(n, 3).text(), "min(n, 3)") << "who records nothing needs no fact";
}

TEST(SizeFacts, recordings_end_nest_and_pause) {
    const Size n = named_size("n", 20);
    SizeFacts outer, inner;
    (void)(n > 1);
    {
        const RecordingFacts around(outer);
        {
            const RecordingFacts within(inner);
            (void)(n > 2);
        }
        {
            const PausedFacts paused;
            (void)(n > 3);
        }
        (void)(n > 4);
    }
    (void)(n > 5);
    ASSERT_EQ(inner.list().size(), 1u);
    EXPECT_EQ(inner.list()[0].text(), "n - 3 >= 0");
    ASSERT_EQ(outer.list().size(), 2u);
    EXPECT_EQ(outer.list()[1].text(), "n - 5 >= 0");
}

TEST(SizeFacts, they_hold_for_names) {
    SizeFacts facts;
    {
        const RecordingFacts recording(facts);
        const Size n = named_size("n", 20), m = named_size("m", 5);
        (void)(n > m);
        (void)(m == 5);
    }
    EXPECT_EQ(facts.broken_by({{"n", 6}, {"m", 5}}), nullptr);
    ASSERT_NE(facts.broken_by({{"n", 5}, {"m", 5}}), nullptr);
    EXPECT_EQ(facts.broken_by({{"n", 9}, {"m", 6}})->text(), "m - 5 == 0");
    EXPECT_NE(facts.broken_by({{"n", 9}}), nullptr) << "a name without a number";
}

// What overflows holds for no size.
TEST(SizeFacts, an_overflow_breaks_them) {
    SizeFacts facts;
    {
        const RecordingFacts recording(facts);
        const Size n = named_size("n", 20);
        (void)(n * n * n > n + 3);
    }
    EXPECT_EQ(facts.broken_by({{"n", 1000}}), nullptr);
    EXPECT_NE(facts.broken_by({{"n", int64_t{1} << 40}}), nullptr);
}

TEST(SizeFacts, intervals_and_forms_keep_origins) {
    const Size n = named_size("n", 20);
    const auto facts = told([&] {
        const Interval range = Interval::below(n) * Interval::point(3) + Interval::point(n);
        EXPECT_EQ(range.low.text(), "n");
        EXPECT_EQ(range.high.text(), "(4 * n) - 3");
        LinearForm<int> form{n, {{1, 2 * n}}};
        const auto sum = linear_sum(form, LinearForm<int>{n, {{1, n}}}, -2);
        ASSERT_TRUE(sum);
        EXPECT_EQ(sum->constant.text(), "(-1) * n");
        EXPECT_TRUE(sum->terms.empty()) << "whatever n is";
    });
    EXPECT_EQ(facts, Texts{});
}

}  // namespace
}  // namespace heddle
