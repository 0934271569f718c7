#include "zspace/size.h"

#include <random>

#include <gtest/gtest.h>

#include "zspace/checked.h"

namespace heddle {
namespace {

TEST(Checked, OverflowIsAValue) {
    EXPECT_EQ(checked_add(INT64_MAX, 1), std::nullopt);
    EXPECT_EQ(checked_subtract(INT64_MIN, 1), std::nullopt);
    EXPECT_EQ(checked_multiply(INT64_MIN, -1), std::nullopt);
    EXPECT_EQ(checked_multiply(-3, 5), -15);
}

TEST(Checked, DivisionFloors) {
    std::mt19937 random(1);
    for (int round = 0; round < 2000; round++) {
        int64_t a = static_cast<int64_t>(random() % 2000) - 1000, b = static_cast<int64_t>(random() % 50) + 1;
        if (random() % 2) b = -b;
        int64_t quotient = floor_divide(a, b), rest = floor_modulo(a, b);
        ASSERT_TRUE(quotient * b + rest == a);
        bool in_range = b > 0 ? rest >= 0 && rest < b : rest <= 0 && rest > b;
        ASSERT_TRUE(in_range);
        ASSERT_TRUE(ceil_divide(a, b) == -floor_divide(-a, b));
        ASSERT_TRUE(ceil_divide(a, b) - quotient == (rest != 0));
    }
}

TEST(Size, ArithmeticKeepsOrigins) {
    Size batch = named_size("batch", 6), two = 2;
    EXPECT_EQ((batch * two + 1).text(), "(batch * 2) + 1");
    EXPECT_EQ((batch * two + 1).value, 13);
    EXPECT_TRUE((batch - 1).named());
    EXPECT_FALSE((two * 3 + 1).named());
    EXPECT_EQ((two * 3 + 1).text(), "7");
    EXPECT_EQ((batch * 1).text(), "batch");
    EXPECT_EQ((batch + 0).text(), "batch");
    EXPECT_EQ((batch * 0), Size(0));
    EXPECT_EQ(floor_divide(batch, 4).value, 1);
    EXPECT_EQ(floor_divide(batch, 1).text(), "batch");
    EXPECT_EQ(floor_modulo(batch, 1), Size(0));
    EXPECT_EQ(minimum(batch, 4).text(), "min(batch, 4)");
    EXPECT_EQ(maximum(batch, batch).text(), "batch");
    EXPECT_FALSE(batch == Size(6));
    EXPECT_TRUE(batch == named_size("batch", 6));
    EXPECT_FALSE(batch == named_size("rows", 6));
}

TEST(Size, NumberAndOriginAgree) {
    std::mt19937 random(2);
    auto pick = [&](int64_t low, int64_t high) {
        return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low));
    };
    for (int round = 0; round < 2000; round++) {
        std::map<std::string, int64_t> names = {{"a", pick(1, 20)}, {"b", pick(1, 20)}};
        Size size = named_size("a", names["a"]);
        int64_t steps = pick(1, 8);
        for (int64_t i = 0; i < steps; i++) {
            Size other = pick(0, 2) ? named_size("b", names["b"]) : Size(pick(1, 7));
            switch (pick(0, 7)) {
            case 0: size = size + other; break;
            case 1: size = size - other; break;
            case 2: size = size * other; break;
            case 3: size = floor_divide(size, other); break;
            case 4: size = floor_modulo(size, other); break;
            case 5: size = minimum(size, other); break;
            default: size = maximum(size, other);
            }
        }
        if (!size.named()) continue;
        ASSERT_TRUE(size.origin->evaluate(names, -99) == size.value);
        std::map<std::string, int64_t> representatives;
        for (const auto& [name, value] : names) representatives[name] = class_representative(value);
        ASSERT_TRUE(Interval::point(size.value).within(size.origin->within_class(representatives)));
        int64_t factor = size.origin->constant_factor();
        ASSERT_TRUE(factor >= 0);
        bool divides = factor == 0 ? size.value == 0 : size.value % factor == 0;
        ASSERT_TRUE(divides);
    }
}

TEST(Size, MissingNamesFallBack) {
    Size size = named_size("a", 4);
    EXPECT_EQ(size.origin->evaluate({}, 7), 7);
    EXPECT_EQ((named_size("a", 4) * 6).origin->constant_factor(), 6);
}

TEST(SizeClass, RepresentativeOfEveryClass) {
    EXPECT_EQ(class_representative(0), 0);
    for (int64_t low = 1; low <= int64_t{1} << 40; low *= 4) {
        EXPECT_EQ(class_representative(low), 2 * low);
        EXPECT_EQ(class_representative(4 * low - 1), 2 * low);
    }
}

}  // namespace
}  // namespace heddle
