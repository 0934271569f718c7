// Random expressions over named sizes: number, origin and known factor agree, whatever the names' values are.
#include <gtest/gtest.h>

#include <random>

#include "zspace/checked.h"
#include "zspace/size.h"

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
        int64_t representative = class_representative(size);
        EXPECT_EQ(class_representative(representative), representative);
        EXPECT_LT(representative, 4 * size + 1);
        EXPECT_LE(size, 2 * representative);
    }
    // The last class ends with the numbers.
    EXPECT_EQ(class_representative(INT64_MAX), int64_t{1} << 61);
    EXPECT_EQ(class_representative(int64_t{1} << 62), int64_t{1} << 61);
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
