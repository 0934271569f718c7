#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "support/narrow_float.h"
#include "support/tensor_data.h"

namespace heddle {
namespace {

struct Format {
    DType dtype;
    int exponent_bits, fraction_bits, bias;
    char kind;  // i: IEEE, n: all ones is NaN, z: the code of negative zero is NaN
};
constexpr Format formats[] = {
    {DType::float16, 5, 10, 15, 'i'},   {DType::bfloat16, 8, 7, 127, 'i'},     {DType::float8e4m3fn, 4, 3, 7, 'n'},
    {DType::float8e5m2, 5, 2, 15, 'i'}, {DType::float8e4m3fnuz, 4, 3, 8, 'z'}, {DType::float8e5m2fnuz, 5, 2, 16, 'z'},
};

// By the definition of the formats: sign, exponent, fraction.
double value_of(const Format& format, uint32_t code) {
    const uint32_t sign_bit = 1u << (format.exponent_bits + format.fraction_bits);
    const uint32_t magnitude = code & (sign_bit - 1);
    if (format.kind == 'z' && code == sign_bit) return std::nan("");
    if (format.kind == 'n' && magnitude == sign_bit - 1) return std::nan("");
    const int exponent = static_cast<int>(magnitude >> format.fraction_bits);
    const int fraction = static_cast<int>(magnitude) & ((1 << format.fraction_bits) - 1);
    const double sign = code & sign_bit ? -1 : 1;
    if (format.kind == 'i' && exponent == (1 << format.exponent_bits) - 1)
        return fraction ? std::nan("") : sign * HUGE_VAL;
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - format.bias - format.fraction_bits);
    return sign * std::ldexp((1 << format.fraction_bits) + fraction, exponent - format.bias - format.fraction_bits);
}

void check_all(const Format& format) {
    const DType dtype = format.dtype;
    const uint32_t sign_bit = 1u << (format.exponent_bits + format.fraction_bits);
    for (uint32_t code = 0; code < 2 * sign_bit; code++) {
        SCOPED_TRACE(testing::Message() << name(dtype) << " " << code);
        const float value = float_from_code(dtype, code);
        const double expected = value_of(format, code);
        if (std::isnan(expected)) {
            ASSERT_TRUE(std::isnan(value));
            ASSERT_TRUE(std::isnan(float_from_code(dtype, code_from_float(dtype, value))));
            continue;
        }
        ASSERT_EQ(static_cast<double>(value), expected);
        ASSERT_EQ(std::signbit(value), std::signbit(expected));
        ASSERT_EQ(code_from_float(dtype, value), code);
        // Between neighbours: the nearer one, and the even one in the middle.
        const uint32_t next = code + 1;
        const double above = value_of(format, next);
        if (!std::isfinite(above) || !std::isfinite(expected) || (next & (sign_bit - 1)) == 0) continue;
        const auto middle = static_cast<float>((expected + above) / 2);
        const uint32_t even = code % 2 == 0 ? code : next;
        ASSERT_EQ(code_from_float(dtype, middle), expected == 0 || even != 0 ? even : 0);
        ASSERT_EQ(code_from_float(dtype, std::nextafter(middle, static_cast<float>(above))), next);
        const uint32_t nearer = code_from_float(dtype, std::nextafter(middle, static_cast<float>(expected)));
        ASSERT_EQ(nearer, code);
        // Once, not by float32 on the way.
        const double outside = std::nextafter(static_cast<double>(middle), above);
        ASSERT_EQ(code_from_real(dtype, outside), next);
    }
}

TEST(NarrowFloats, EveryValueAndEveryTie) {
    for (const Format& format : formats) check_all(format);
}

// The nearest by search among all values, of floats that are dense where the type has values and beyond.
TEST(NarrowFloats, EightBitsByTheNearestOfAll) {
    for (const Format& format : formats) {
        if (format.dtype == DType::float16 || format.dtype == DType::bfloat16) continue;
        std::vector<double> values;  // of codes 0 ..: they increase
        for (uint32_t code = 0; code < 128; code++) {
            const double value = value_of(format, code);
            if (!std::isfinite(value)) break;
            values.push_back(value);
        }
        const double greatest = values.back(), step = greatest - values[values.size() - 2];
        EXPECT_EQ(greatest, info(format.dtype).format.greatest);
        for (uint32_t bits = 0; bits <= 0x7F800000u; bits += 4099) {  // a prime: all low bits occur
            const float value = std::bit_cast<float>(bits);
            const auto above = std::lower_bound(values.begin(), values.end(), static_cast<double>(value));
            uint32_t expected = static_cast<uint32_t>(above - values.begin());
            bool overflows = static_cast<double>(value) >= greatest + step / 2;
            if (!overflows && above == values.end()) expected--;
            if (!overflows && above != values.end() && above != values.begin()) {
                const double up = *above - static_cast<double>(value), down = static_cast<double>(value) - above[-1];
                if (down < up || (down == up && expected % 2 == 1)) expected--;
            }
            const float found = float_from_code(format.dtype, code_from_float(format.dtype, value));
            if (overflows) {
                ASSERT_TRUE(format.kind == 'i' ? std::isinf(found) : std::isnan(found)) << value;
            } else {
                ASSERT_EQ(code_from_float(format.dtype, value), expected) << value;
                const uint32_t negative = code_from_float(format.dtype, -value);
                ASSERT_EQ(negative, format.kind == 'z' && expected == 0 ? 0 : expected | 0x80) << value;
            }
        }
    }
}

TEST(NarrowFloats, OverflowAndUnderflow) {
    const auto half = [](float value) { return code_from_float(DType::float16, value); };
    EXPECT_EQ(half(65519.996f), 0x7BFFu);
    EXPECT_EQ(half(65520.0f), 0x7C00u);
    EXPECT_EQ(half(-1e30f), 0xFC00u);
    EXPECT_EQ(half(std::ldexp(1.0f, -25)), 0u);  // a tie, to even
    EXPECT_EQ(half(std::nextafter(std::ldexp(1.0f, -25), 1.0f)), 1u);
    const float greatest = std::numeric_limits<float>::max();
    EXPECT_EQ(code_from_float(DType::bfloat16, greatest), 0x7F80u);
    EXPECT_EQ(code_from_float(DType::float8e4m3fn, 464.0f), 0x7Eu);  // a tie, to even
    EXPECT_EQ(code_from_float(DType::float8e4m3fn, -greatest), 0xFFu);
    EXPECT_EQ(code_from_float(DType::float8e5m2, -greatest), 0xFCu);
    EXPECT_EQ(code_from_float(DType::float8e4m3fnuz, -HUGE_VALF), 0x80u);
    EXPECT_EQ(code_from_float(DType::float8e5m2fnuz, -0.0f), 0u);
}

TEST(NarrowFloats, WhatHoldsWhat) {
    for (DType dtype : {DType::float8e4m3fn, DType::float8e4m3fnuz, DType::float8e5m2, DType::float8e5m2fnuz}) {
        EXPECT_TRUE(holds(DType::float32, dtype) && holds(DType::bfloat16, dtype)) << name(dtype);
        EXPECT_TRUE(holds(DType::float16, dtype)) << name(dtype);
        EXPECT_FALSE(holds(dtype, DType::float16)) << name(dtype);
    }
    EXPECT_FALSE(holds(DType::float8e5m2, DType::float8e4m3fn));
    EXPECT_FALSE(holds(DType::float8e4m3fn, DType::float8e4m3fnuz));
    EXPECT_FALSE(holds(DType::float16, DType::bfloat16) || holds(DType::bfloat16, DType::float16));
}

TEST(TensorData, FourBitsAByte) {
    TensorData data(DType::int4, {4}), natural(DType::uint4, {3});
    EXPECT_EQ(data.byte_size(), 4);
    for (int64_t i = 0; i < 4; i++) data.set_integer(i, std::array{7, 8, -9, 100}[static_cast<size_t>(i)]);
    EXPECT_EQ((std::array{data.integer_at(0), data.integer_at(1), data.integer_at(2), data.integer_at(3)}),
              (std::array<int64_t, 4>{7, -8, 7, 4}));
    data.set_real(0, -100.0);  // a real number saturates
    data.set_real(1, 7.9);
    EXPECT_EQ(data.integer_at(0), -8);
    EXPECT_EQ(data.as<uint8_t>()[0], 0x8);  // zeros above, as ml_dtypes has them
    EXPECT_EQ(data.real_at(1), 7);
    natural.set_integer(0, 17);
    natural.set_real(1, 17.5);
    natural.mutable_as<uint8_t>()[2] = 0xA5;  // of a byte that another wrote the low bits count
    EXPECT_EQ(natural.integer_at(0), 1);
    EXPECT_EQ(natural.integer_at(1), 15);
    EXPECT_EQ(natural.integer_at(2), 5);
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
