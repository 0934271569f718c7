#include "zspace/premises.h"

#include <gtest/gtest.h>

#include <random>

namespace heddle {
namespace {

int64_t value_of(const Polynomial& sum, const std::vector<int64_t>& atoms) {
    int64_t result = 0;
    for (const auto& [product, coefficient] : sum.terms()) {
        int64_t term = coefficient;
        for (Atom atom : product) term *= atoms[static_cast<size_t>(atom)];
        result += term;
    }
    return result;
}

TEST(Polynomial, has_one_form) {
    const Polynomial a = Polynomial::of_atom(0), b = Polynomial::of_atom(1);
    EXPECT_EQ((a + b) * (a - b), a * a - b * b);
    EXPECT_EQ((a * b + a * 2 + 3).coefficient(0), b + 2);
    EXPECT_EQ((a * b + a * 2 + 3).without(0), Polynomial(3));
    EXPECT_EQ((a * a + b).with(0, b - 1), b * b - b + 1);
    EXPECT_FALSE((a * INT64_MAX + a).is_exact());
}

TEST(Premises, bounds_of_a_tiled_axis_follow) {
    Premises premises;
    const Size n = named_size("n", 100);
    const Polynomial size = premises.of(n), tiles = premises.of(ceil_divide(n, 16));
    EXPECT_TRUE(premises.proves(tiles * 16 - size));
    EXPECT_FALSE(premises.proves(tiles * 16 - size - 1));
    EXPECT_TRUE(premises.proves(size - tiles * 16 + 15));
    EXPECT_TRUE(premises.proves(premises.of(ceil_divide(n, 8)) * 2 - premises.of(ceil_divide(n, 4))));
    const Polynomial tile = Polynomial::of_atom(premises.atom("tile"));
    premises.add(tile);
    premises.add(tiles - 1 - tile);
    EXPECT_TRUE(premises.proves(size - 1 - tile * 16));
    EXPECT_FALSE(premises.proves(size - 2 - tile * 16));
    premises.forget(1);
    EXPECT_FALSE(premises.proves(size - 1 - tile * 16));
}

TEST(Premises, a_fact_that_is_one_sum_takes_the_number_s_place) {
    Premises premises;
    const Size n = named_size("n", 64), m = named_size("m", 32);
    premises.add_zero(premises.of(n - 2 * m));
    EXPECT_TRUE(premises.proves(premises.of(n * n) - premises.of(4 * m * m)));
    EXPECT_TRUE(premises.proves(premises.of(floor_divide(n, 2)) - premises.of(m)));
}

TEST(Premises, what_cannot_be_proves_anything) {
    Premises premises;
    const Polynomial n = premises.of(named_size("n", 4));
    const size_t before = premises.mark();
    premises.add(Polynomial(-1));
    EXPECT_TRUE(premises.proves(-n - 1));
    premises.forget(before);
    EXPECT_FALSE(premises.proves(-n - 1));
}

// Against all small numbers: what is proved holds for each of them for which the premises do.
TEST(Premises, what_is_proved_holds) {
    int proved = 0;
    for (uint32_t seed = 0; seed < 60; seed++) {
        std::mt19937 random(seed);
        const auto number = [&](int64_t low, int64_t high) { return low + static_cast<int64_t>(random()) % (high - low + 1); };
        Premises premises;
        std::vector<Polynomial> names;
        for (const char* name : {"a", "b", "c"}) names.push_back(premises.of(named_size(name, 3)));
        const int64_t divisor = number(2, 4);
        const Polynomial dividend = names[0] + names[1] * number(0, 2) + number(0, 3);
        // By atom: quotients and extremes of the names. A simple sum, so that the quotient is one atom or none.
        const Polynomial quotient = premises.quotient(dividend, divisor), least = premises.minimum(names[1], names[2]),
                         most = premises.maximum(names[0], quotient);
        const auto sum = [&] {
            Polynomial result = number(-6, 6);
            const Polynomial products[] = {names[0] * names[1], least * names[2]};
            for (const Polynomial& part : {names[0], names[1], names[2], quotient, least, most, products[0], products[1]}) {
                if (random() % 3 == 0) result = result + part * number(-2, 3);
            }
            return result;
        };
        std::vector<Polynomial> known;
        for (int i = 0; i < 3; i++) known.push_back(sum());
        for (const Polynomial& one : known) premises.add(one);
        std::vector<Polynomial> goals;
        for (int i = 0; i < 20; i++) goals.push_back(i % 2 ? sum() : known[static_cast<size_t>(i) % 3] * number(1, 2) + sum());
        std::vector<Polynomial> found;
        std::ranges::copy_if(goals, std::back_inserter(found), [&](const Polynomial& goal) { return premises.proves(goal); });
        proved += static_cast<int>(found.size());
        for (int64_t a = 0; a < 7; a++) {
            for (int64_t b = 0; b < 7; b++) {
                for (int64_t c = 0; c < 7; c++) {
                    std::vector<int64_t> atoms(64, 0);
                    const auto set = [&](const Polynomial& atom, int64_t value) {
                        if (atom.greatest_atom() >= 0) atoms[static_cast<size_t>(atom.greatest_atom())] = value;
                    };
                    set(names[0], a), set(names[1], b), set(names[2], c);
                    // What of the quotient is a whole number stands beside its atom.
                    const int64_t wanted = floor_divide(Size(value_of(dividend, atoms)), Size(divisor)).number();
                    const Atom rest = quotient.greatest_atom();
                    if (rest > names[2].greatest_atom()) atoms[static_cast<size_t>(rest)] += wanted - value_of(quotient, atoms);
                    set(least, std::min(b, c));
                    set(most, std::max(a, wanted));
                    const auto holds = [&](const Polynomial& one) { return value_of(one, atoms) >= 0; };
                    if (!std::ranges::all_of(known, holds)) continue;
                    for (const Polynomial& goal : found)
                        ASSERT_TRUE(holds(goal)) << seed << ": " << premises.text(goal) << " at " << a << ", " << b << ", " << c;
                }
            }
        }
    }
    EXPECT_GT(proved, 75);
}

}  // namespace
}  // namespace heddle
