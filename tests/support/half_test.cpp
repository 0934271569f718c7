#include <bit>
#include <cmath>

#include <gtest/gtest.h>

#include "support/tensor_data.h"

namespace heddle {
namespace {

// By the definition of the formats: sign, exponent, fraction.
double value_of(uint16_t bits, int exponent_bits, int fraction_bits) {
    int bias = (1 << (exponent_bits - 1)) - 1;
    int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1), fraction = bits & ((1 << fraction_bits) - 1);
    double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1) return fraction ? std::nan("") : sign * HUGE_VAL;
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
    return sign * std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

template <typename To, typename From>
void check_all(To to, From from, int exponent_bits, int fraction_bits) {
    for (uint32_t bits = 0; bits < 65536; bits++) {
        auto half = static_cast<uint16_t>(bits);
        float value = to(half);
        double expected = value_of(half, exponent_bits, fraction_bits);
        if (std::isnan(expected)) {
            ASSERT_TRUE(std::isnan(value)) << bits;
            ASSERT_TRUE(std::isnan(to(from(value)))) << bits;
            continue;
        }
        ASSERT_EQ(static_cast<double>(value), expected) << bits;
        ASSERT_EQ(std::signbit(value), std::signbit(expected)) << bits;
        ASSERT_EQ(from(value), half) << bits;
        // Between neighbours: the nearer one, and the even one in the middle.
        auto next = static_cast<uint16_t>(bits + 1);
        double above = value_of(next, exponent_bits, fraction_bits);
        if (!std::isfinite(above) || !std::isfinite(expected) || (next & 0x7FFF) == 0) continue;
        auto middle = static_cast<float>((expected + above) / 2);
        ASSERT_EQ(from(middle), bits % 2 == 0 ? half : next) << bits;
        ASSERT_EQ(from(std::nextafter(middle, static_cast<float>(expected))), half) << bits;
        ASSERT_EQ(from(std::nextafter(middle, static_cast<float>(above))), next) << bits;
    }
}

TEST(Half, EveryValueAndEveryTie) {
    check_all(float_from_half, half_from_float, 5, 10);
    check_all(float_from_bfloat16, bfloat16_from_float, 8, 7);
}

TEST(Half, OverflowAndUnderflow) {
    EXPECT_EQ(half_from_float(65519.996f), 0x7BFF);
    EXPECT_EQ(half_from_float(65520.0f), 0x7C00);
    EXPECT_EQ(half_from_float(-1e30f), 0xFC00);
    EXPECT_EQ(half_from_float(std::ldexp(1.0f, -25)), 0);  // a tie, to even
    EXPECT_EQ(half_from_float(std::nextafter(std::ldexp(1.0f, -25), 1.0f)), 1);
    EXPECT_EQ(bfloat16_from_float(std::numeric_limits<float>::max()), 0x7F80);
}

TEST(TensorData, ElementsAndCasts) {
    TensorData data(DType::int8, {2});
    data.set_real(0, 1e9);
    data.set_real(1, NAN);
    EXPECT_EQ(data.integer_at(0), 127);
    EXPECT_EQ(data.integer_at(1), 0);
    data.set_integer(0, 300);
    EXPECT_EQ(data.integer_at(0), 44);
    TensorData copy = data, own = data.clone();
    copy.set_integer(0, 5);
    EXPECT_EQ(data.integer_at(0), 5);
    EXPECT_EQ(own.integer_at(0), 44);
    EXPECT_EQ(data.reshaped({2, 1}).shape(), (std::vector<int64_t>{2, 1}));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data.data()) % buffer_alignment, 0u);
    EXPECT_EQ(allocate_buffer(SIZE_MAX - 5), nullptr);
}

}  // namespace
}  // namespace heddle
