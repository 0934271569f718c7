// Random expressions over named sizes: number, origin and known factor agree, whatever the names' values are.
#include <gtest/gtest.h>

#include <random>

#include "zspace/checked.h"
#include "zspace/size.h"
#include "zspace/size_class.h"

namespace heddle {
namespace {

const char* const names[] = {"batch", "length", "width"};
using Names = std::map<std::string, int64_t>;

// The same expression at other values of the names if `random` is seeded alike.
Size random_size(std::mt19937& random, const Names& values, int depth) {
    if (depth == 0 || random() % 5 == 0) {
        if (random() % 2 == 0) return Size(static_cast<int64_t>(random() % 12) - 2);
        std::string name = names[random() % 3];
        return named_size(name, values.at(name));
    }
    uint32_t kind = random() % 7;
    Size a = random_size(random, values, depth - 1), b = random_size(random, values, depth - 1);
    Size divisor(static_cast<int64_t>(1 + random() % 9));
    switch (kind) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return floor_divide(a, divisor);
    case 4: return floor_modulo(a, divisor);
    case 5: return minimum(a, b);
    default: return maximum(a, b);
    }
}

TEST(SizeProperty, number_origin_and_factor_agree) {
    for (uint32_t seed = 0; seed < 3'000; seed++) {
        std::mt19937 values_of(seed + 100'000);
        Names here, there;
        for (const char* name : names) {
            here[name] = static_cast<int64_t>(1 + values_of() % 30);
            there[name] = static_cast<int64_t>(1 + values_of() % 30);
        }
        std::mt19937 first(seed), second(seed);
        Size a = random_size(first, here, 4), b = random_size(second, there, 4);
        if (!a.named()) continue;
        EXPECT_EQ(a.origin()->evaluate(here, INT64_MIN), a.value()) << seed << ": " << a.text();
        if (b.named()) {
            EXPECT_EQ(b.origin()->evaluate(there, INT64_MIN), b.value()) << seed << ": " << b.text();
        }
        int64_t factor = a.origin()->constant_factor();
        // Zero: the value is zero whatever the names are.
        ASSERT_GE(factor, 0) << seed << ": " << a.text();
        if (factor == 0) {
            EXPECT_EQ(a.value(), 0) << seed << ": " << a.text();
            continue;
        }
        EXPECT_EQ(a.value() % factor, 0) << seed << ": " << a.text();
        EXPECT_EQ(a.origin()->evaluate(there, 0) % factor, 0) << seed << ": " << a.text();
    }
}

TEST(SizeProperty, a_class_has_one_representative_inside) {
    for (int64_t size = 1; size < 5'000; size++) {
        const SizeClass found = size_class(size);
        EXPECT_LE(found.least, size);
        EXPECT_LE(size, found.most);
        EXPECT_LE(found.least, found.representative);
        EXPECT_LE(found.representative, found.most);
        for (int64_t other : {found.least, found.representative, found.most})
            EXPECT_EQ(size_class(other).least, found.least);
    }
    // The last class ends with the numbers.
    EXPECT_EQ(size_class(INT64_MAX).most, INT64_MAX);
    EXPECT_EQ(size_class(int64_t{1} << 62).most, INT64_MAX);
}

TEST(SizeProperty, what_is_never_negative_is_so_for_all_names) {
    int never = 0;
    for (uint32_t seed = 0; seed < 30'000; seed++) {
        std::mt19937 random(seed);
        const auto values = [&] {
            Names values;
            for (const char* name : names) values[name] = static_cast<int64_t>(random() % 40);
            return values;
        };
        const Names here = values();
        const Size a = random_size(random, here, 3), size = random() % 2 ? a : a - random_size(random, here, 2);
        if (!size.named() || !size.origin()->is_never_negative()) continue;
        never++;
        for (int i = 0; i < 40; i++) {
            const Names there = values();
            const auto value = size.origin()->evaluated(there);
            ASSERT_TRUE(value && *value >= 0) << seed << ": " << size.text() << " at " << testing::PrintToString(there);
        }
    }
    EXPECT_GT(never, 3'000);
}

TEST(SizeProperty, halves_of_halves_are_quarters) {
    const Size n = named_size("n", 37);
    const Size half = floor_divide(n + 1, 2), quarter = floor_divide(half + 1, 2);
    EXPECT_TRUE(quarter.same_as(floor_divide(n + 3, 4))) << quarter.text();
    for (const Size& size : {2 * half - n, n - 2 * floor_divide(n, 2), 2 * quarter - half, n - floor_divide(n, 3) * 3, n + 1 - half,
                             half - floor_divide(half, 2) - floor_divide(half, 3), n - minimum(n, 7), maximum(n, half) - half})
        EXPECT_TRUE(!size.named() || size.origin()->is_never_negative()) << size.text();
    for (const Size& size : {n - 2 * half, half - 1, n - 2 * floor_divide(n, 2) - 1, quarter - 2 * floor_divide(n, 8) - 1})
        EXPECT_FALSE(size.origin()->is_never_negative()) << size.text();
}

TEST(SizeProperty, division_and_remainder_fit_together) {
    for (int64_t a = -50; a <= 50; a++) {
        for (int64_t b : {-7, -3, -1, 1, 2, 5, 64}) {
            EXPECT_EQ(floor_divide(a, b) * b + floor_modulo(a, b), a);
            if (b > 0) {
                EXPECT_GE(floor_modulo(a, b), 0);
                EXPECT_LT(floor_modulo(a, b), b);
                EXPECT_GE(ceil_divide(a, b) * b, a);
                EXPECT_LT((ceil_divide(a, b) - 1) * b, a);
            }
        }
    }
}

}  // namespace
}  // namespace heddle
