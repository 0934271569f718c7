// What is made of sizes in floats is what floats make of them, at all sizes for which what it told holds.
#include "zspace/size_quotient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "zspace/size_facts.h"

namespace heddle {
namespace {

using Names = std::map<std::string, int64_t>;

double at(const SizeQuotient& q, const Names& names) {
    return static_cast<double>(q.above.at(names)) / static_cast<double>(q.below.at(names));
}

TEST(SizeQuotient, a_float_is_a_quotient_of_integers) {
    for (const double number : {0.0, 1.0, -3.0, 0.5, 0.1, 1.0 / 3, 1048576.0 * 1048576, 1.0 / 1024}) {
        const auto made = SizeQuotient::of(number);
        ASSERT_TRUE(made) << number;
        EXPECT_EQ(made->number(), number);
        EXPECT_TRUE(made->is_exact());
    }
    for (const double number : {-0.0, std::nan(""), 1.0 / 0.0, 1e300, 1e-300}) EXPECT_FALSE(SizeQuotient::of(number)) << number;
}

TEST(SizeQuotient, halves_are_rounded_as_integers_are) {
    const Size n = named_size("n", 51);
    const FloatSizes floats(24);
    const auto half = floats.multiply(n, *SizeQuotient::of(0.5));
    ASSERT_TRUE(half);
    EXPECT_EQ(half->floor().text(), "n // 2");
    EXPECT_EQ(half->ceil().text(), "(n + 1) // 2");
    EXPECT_EQ(floats.multiply(*half, Size(4))->floor().text(), "2 * n");
    EXPECT_EQ(floats.divide(n, Size(3))->floor().text(), "n // 3");
    EXPECT_FALSE(floats.multiply(*floats.divide(n, Size(3)), Size(2))) << "it has been rounded";
    EXPECT_EQ(floats.divide(4 * n, n)->floor().text(), "4");
}

TEST(SizeQuotient, what_floats_do_not_hold_is_a_fact) {
    SizeFacts facts;
    {
        const RecordingFacts recording(facts);
        EXPECT_TRUE(FloatSizes(24).converted(named_size("n", 50)));
        EXPECT_FALSE(FloatSizes(24).converted(named_size("m", 1 << 24)));
    }
    EXPECT_EQ(facts.broken_by({{"n", (1 << 24) - 1}, {"m", 1 << 25}}), nullptr);
    EXPECT_NE(facts.broken_by({{"n", 1 << 24}, {"m", 1 << 25}}), nullptr);
    EXPECT_NE(facts.broken_by({{"n", 50}, {"m", 60}}), nullptr);
}

// A chain of operations in float and beside it, for one number of n and m, and what it comes to for others.
template <typename Float>
void check_chain(uint64_t seed, int bits) {
    const FloatSizes floats(bits);
    struct Result {
        SizeQuotient followed;
        Float number = 0;
        int steps = 0;  // that were followed
    };
    const auto chain = [&](const Names& names, int most) -> Result {
        std::mt19937_64 random(seed);
        SizeQuotient q = named_size("n", names.at("n"));
        auto number = static_cast<Float>(names.at("n"));
        int followed = most;
        for (int i = 0; i < most; i++) {
            const double constants[] = {0.5, 2, 3, 7, 0.25, 1, -1, 1.5, 32};
            const auto constant = constants[random() % std::size(constants)];
            const bool other = random() % 4 == 0;
            const SizeQuotient by = other ? SizeQuotient(named_size("m", names.at("m"))) : *SizeQuotient::of(constant);
            const Float b = other ? static_cast<Float>(names.at("m")) : static_cast<Float>(constant);
            const auto operation = random() % 8;
            std::optional<SizeQuotient> made;
            Float next = 0;
            switch (operation) {
            case 0: made = floats.add(q, by), next = number + b; break;
            case 1: made = floats.subtract(q, by), next = number - b; break;
            case 2: made = floats.multiply(q, by), next = number * b; break;
            case 3: made = floats.divide(q, by), next = number / b; break;
            case 4: made = floats.minimum(q, by), next = std::min(number, b); break;
            case 5: made = floats.maximum(q, by), next = std::max(number, b); break;
            case 6: made = SizeQuotient(q.floor()), next = std::floor(number); break;
            default: made = SizeQuotient(q.ceil()), next = std::ceil(number); break;
            }
            if (operation >= 6 && q.above < 0) made.reset();  // integers have no negative zero
            number = next;
            if (made) {
                q = *made;
            } else if (followed == most) {  // who follows it no further has a number
                (void)q.value();
                (void)by.value();
                followed = i;
            }
            if (followed < most && RecordingFacts::is_on()) break;
        }
        return {q, number, followed};
    };
    std::mt19937_64 random(seed + 1);
    const auto size = [&] { return static_cast<int64_t>(random() % 3 == 0 ? random() % 5 : random() % 100000); };
    SizeFacts facts;
    Result generic;
    {
        const RecordingFacts recording(facts);
        generic = chain({{"n", size()}, {"m", size()}}, 5);
    }
    for (int i = 0; i < 20; i++) {
        const Names names = {{"n", size()}, {"m", size()}};
        if (facts.broken_by(names)) continue;
        const double found = at(generic.followed, names);
        const Float wanted = chain(names, generic.steps).number;
        EXPECT_EQ(std::signbit(found), std::signbit(wanted)) << generic.followed.text();
        EXPECT_EQ(static_cast<Float>(found), wanted) << generic.followed.text() << " of seed " << seed << ", n = " << names.at("n") << ", m = " << names.at("m");
    }
}

TEST(SizeQuotient, random_chains_are_what_floats_compute) {
    for (uint64_t seed = 0; seed < 3000; seed++) {
        check_chain<float>(seed, 24);
        check_chain<double>(seed, 53);
    }
}

}  // namespace
}  // namespace heddle
