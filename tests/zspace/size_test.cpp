#include "zspace/size.h"
#include "zspace/size_class.h"

#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "zspace/checked.h"
#include "zspace/interval.h"

namespace heddle {
namespace {

void expect_same(const Size& a, const Size& b) {
    EXPECT_TRUE(a.same_as(b)) << a.text() << ", " << b.text();
}

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
    EXPECT_EQ((batch * two + 1).text(), "(2 * batch) + 1");
    EXPECT_EQ((batch * two + 1).value(), 13);
    EXPECT_TRUE((batch - 1).named());
    EXPECT_FALSE((two * 3 + 1).named());
    EXPECT_EQ((two * 3 + 1).text(), "7");
    EXPECT_EQ((batch * 1).text(), "batch");
    EXPECT_EQ((batch + 0).text(), "batch");
    expect_same(batch * 0, 0);
    EXPECT_EQ(floor_divide(batch, 4).value(), 1);
    EXPECT_EQ(floor_divide(batch, 1).text(), "batch");
    expect_same(floor_modulo(batch, 1), 0);
    EXPECT_EQ(minimum(batch, 4).text(), "min(batch, 4)");
    EXPECT_EQ(maximum(batch, batch).text(), "batch");
    EXPECT_TRUE(batch == Size(6));
    EXPECT_TRUE(batch == named_size("rows", 6));
    EXPECT_FALSE(batch.same_as(6));
    EXPECT_TRUE(batch.same_as(named_size("batch", 6)));
    EXPECT_FALSE(batch.same_as(named_size("rows", 6)));
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
        ASSERT_TRUE(size.origin()->evaluate(names, -99) == size.value());
        std::map<std::string, int64_t> representatives;
        for (const auto& [name, value] : names) representatives[name] = class_representative(value);
        ASSERT_TRUE(Interval::point(size.value()).within(size.origin()->within_class(representatives)));
        int64_t factor = size.origin()->constant_factor();
        ASSERT_TRUE(factor >= 0);
        bool divides = factor == 0 ? size.value() == 0 : size.value() % factor == 0;
        ASSERT_TRUE(divides);
    }
}

TEST(Origin, EqualExpressionsAreOne) {
    const Size a = named_size("a", 6), b = named_size("b", 7), c = named_size("c", 2);
    expect_same((a + b) * c, c * b + a * c);
    EXPECT_EQ(((a + b) * c).text(), "(a * c) + (b * c)");
    expect_same((a - 3) * (a + 3) + 9, a * a);
    expect_same(a + b - a, b);
    expect_same(a - a, Size(0));
    expect_same(floor_divide(a * b * 4, b * 2), a * 2);
    expect_same(floor_divide(a * 4 + b * 2 + 9, 4), a + floor_divide(b * 2 + 1, 4) + 2);
    expect_same(floor_divide(a * 4 - 1, 4), a - 1);
    expect_same(floor_divide((a * 4 + 4) * (b * 4 + 4) * 82, b * 4 + 4), a * 328 + 328);
    expect_same(floor_divide(a * a - b * b, a + b), a - b);
    expect_same(floor_modulo((a + b) * (b + c * 2) * 3, b + c * 2), 0);
    EXPECT_TRUE(floor_divide(a * b + 1, b + 1).named());
    expect_same(floor_modulo(a * 4 + b - 1, 4), floor_modulo(b + 3, 4));
    expect_same(floor_modulo(a * 8 + 11, 4), Size(3));
    expect_same(floor_modulo(floor_modulo(a, b), b), floor_modulo(a, b));
    expect_same(floor_modulo(floor_modulo(a, 4), 4), floor_modulo(a, 4));
    expect_same(floor_divide(floor_modulo(a, b), b), 0);
    expect_same(floor_divide(floor_modulo(a, 3) + b * 3, 3), b);
    expect_same(floor_modulo(floor_modulo(a, 3) + b * 3, 3), floor_modulo(a, 3));
    expect_same(floor_divide(floor_modulo(a, 3) * 2 + b * 6, 6), b);
    expect_same(minimum(a * b, 4), minimum(4, b * a));
    expect_same(maximum(a, a + 1), a + 1);
    expect_same(minimum(a, a - 1), a - 1);
    OriginPointer from_thread = nullptr;
    std::thread([&] { from_thread = (named_size("b", 1) * named_size("a", 1) + 17).origin(); }).join();
    EXPECT_EQ(from_thread, (a * b + 17).origin());
}

TEST(Origin, WhatIsTooLargeStaysAsItIs) {
    const Size a = named_size("a", 3), great(INT64_MAX);
    EXPECT_EQ((a * great).text(), "9223372036854775807 * a");
    EXPECT_EQ((a * great * 4).origin()->kind(), Origin::Kind::multiply);
    EXPECT_EQ((a * great + a * great).origin()->kind(), Origin::Kind::add);
    EXPECT_EQ((a * great * 4).origin()->evaluate({{"a", 0}}, 7), 0);
    EXPECT_EQ((a * great * 4).origin()->evaluate({{"a", 1}}, 7), 7);  // beyond 64 bits
    Size product = a, sum = a;
    std::map<std::string, int64_t> names = {{"a", 5}};
    for (int i = 0; i < 20; i++) {
        const std::string name = "x" + std::to_string(i);
        product = product * named_size(name, 1);
        sum = sum + named_size(name, 1);
        names[name] = i % 3 == 0 ? 2 : 1;
    }
    EXPECT_EQ(product.origin()->evaluate(names, -1), 5 << 7);
    EXPECT_EQ(sum.origin()->evaluate(names, -1), 5 + 20 + 7);
    names.erase("x19");
    EXPECT_EQ(product.origin()->evaluate(names, -1), -1);
    EXPECT_EQ(sum.origin()->evaluate(names, -1), -1);
}

TEST(Origin, DivisionsThatCannotBeTakeTheFallback) {
    const Size a = named_size("a", 3), b = named_size("b", 2);
    const OriginPointer quotient = floor_divide(a, b).origin(), rest = floor_modulo(a, b).origin();
    EXPECT_EQ(quotient->evaluate({{"a", 3}, {"b", 0}}, 7), 7);
    EXPECT_EQ(rest->evaluate({{"a", 3}, {"b", 0}}, 7), 7);
    EXPECT_EQ(quotient->evaluate({{"a", INT64_MIN}, {"b", -1}}, 7), 7);
    EXPECT_EQ(quotient->evaluate({{"a", 9}, {"b", -1}}, 7), -9);
    EXPECT_EQ(rest->evaluate({{"a", INT64_MIN}, {"b", -1}}, 7), 0);
}

TEST(Origin, SpelledForms) {
    const Size n = named_size("n", 3), m = named_size("batch size", 5);
    EXPECT_EQ((n * 2 - m + 1).origin()->spelled(), "(((2 * n) - 'batch size') + 1)");
    EXPECT_EQ((n * -2).origin()->spelled(), "(-2 * n)");
    EXPECT_EQ((n * -2).text(), "(-2) * n");
    EXPECT_EQ(minimum(n, m + 1).origin()->spelled(), "min(('batch size' + 1), n)");
}

TEST(Size, MissingNamesFallBack) {
    Size size = named_size("a", 4);
    EXPECT_EQ(size.origin()->evaluate({}, 7), 7);
    EXPECT_EQ((named_size("a", 4) * 6).origin()->constant_factor(), 6);
}

TEST(SizeClass, RepresentativeOfEveryClass) {
    EXPECT_EQ(class_representative(0), 0);
    int64_t least = 1;
    for (int64_t next : {4, 16, 256, 4096, 65536}) {
        for (int64_t size : {least, next - 1}) {
            EXPECT_EQ(size_class(size).least, least);
            EXPECT_EQ(size_class(size).most, next - 1);
            EXPECT_EQ(class_representative(size), 2 * least);
        }
        least = next;
    }
}

}  // namespace
}  // namespace heddle
