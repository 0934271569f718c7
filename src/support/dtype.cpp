#include "support/dtype.h"

#include <array>
#include <bit>

namespace heddle {
namespace {

using enum DType;
using Class = DTypeClass;

constexpr double power_of_two(int exponent) {
    return exponent < -1022 ? std::bit_cast<double>(uint64_t{1} << (exponent + 1074))
                            : std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

constexpr FloatFormat format(int exponent_bits, int mantissa_bits, int bias, FloatSpecials specials) {
    const int highest = (1 << exponent_bits) - 1 - (specials == FloatSpecials::ieee ? 1 : 0) - bias;
    // The greatest mantissa, 1.11..1; where all ones are NaN the one below.
    const int missing = specials == FloatSpecials::only_nan ? 2 : 1;
    const double ones = 2 - missing * power_of_two(-mantissa_bits);
    return {.mantissa_bits = mantissa_bits,
            .bias = bias,
            .specials = specials,
            .greatest = ones * power_of_two(highest),
            .least_normal = power_of_two(1 - bias),
            .spacing = power_of_two(1 - bias - mantissa_bits),
            .unit_roundoff = power_of_two(-mantissa_bits - 1)};
}
constexpr FloatFormat none{};
using enum FloatSpecials;

constexpr std::array table = {
    DTypeInfo{boolean, "bool", "uint8_t", "|b1", Class::boolean, 8, boolean, boolean, none},
    DTypeInfo{int8, "int8", "int8_t", "|i1", Class::signed_integer, 8, int8, int8, none},
    DTypeInfo{int16, "int16", "int16_t", "<i2", Class::signed_integer, 16, int16, int16, none},
    DTypeInfo{int32, "int32", "int32_t", "<i4", Class::signed_integer, 32, int32, int32, none},
    DTypeInfo{int64, "int64", "int64_t", "<i8", Class::signed_integer, 64, int64, int64, none},
    DTypeInfo{uint8, "uint8", "uint8_t", "|u1", Class::unsigned_integer, 8, uint8, uint8, none},
    DTypeInfo{uint16, "uint16", "uint16_t", "<u2", Class::unsigned_integer, 16, uint16, uint16, none},
    DTypeInfo{uint32, "uint32", "uint32_t", "<u4", Class::unsigned_integer, 32, uint32, uint32, none},
    DTypeInfo{uint64, "uint64", "uint64_t", "<u8", Class::unsigned_integer, 64, uint64, uint64, none},
    DTypeInfo{float16, "float16", "uint16_t", "<f2", Class::floating, 16, float32, float32, format(5, 10, 15, ieee)},
    DTypeInfo{bfloat16, "bfloat16", "uint16_t", "", Class::floating, 16, float32, float32, format(8, 7, 127, ieee)},
    DTypeInfo{float32, "float32", "float", "<f4", Class::floating, 32, float32, float32, format(8, 23, 127, ieee)},
    DTypeInfo{float64, "float64", "double", "<f8", Class::floating, 64, float64, float64, format(11, 52, 1023, ieee)},
    DTypeInfo{complex64, "complex64", "float", "<c8", Class::complex, 64, complex64, complex64, none},
    DTypeInfo{complex128, "complex128", "double", "<c16", Class::complex, 128, complex128, complex128, none},
    DTypeInfo{float8e4m3fn, "float8e4m3fn", "uint8_t", "", Class::floating, 8, float32, float32,
              format(4, 3, 7, only_nan)},
    DTypeInfo{float8e4m3fnuz, "float8e4m3fnuz", "uint8_t", "", Class::floating, 8, float32, float32,
              format(4, 3, 8, single_nan)},
    DTypeInfo{float8e5m2, "float8e5m2", "uint8_t", "", Class::floating, 8, float32, float32, format(5, 2, 15, ieee)},
    DTypeInfo{float8e5m2fnuz, "float8e5m2fnuz", "uint8_t", "", Class::floating, 8, float32, float32,
              format(5, 2, 16, single_nan)},
    DTypeInfo{int4, "int4", "uint8_t", "", Class::signed_integer, 4, int8, int8, none},
    DTypeInfo{uint4, "uint4", "uint8_t", "", Class::unsigned_integer, 4, uint8, uint8, none},
};

}  // namespace

const DTypeInfo& info(DType dtype) { return table[static_cast<size_t>(dtype)]; }

std::span<const DTypeInfo> all_dtypes() { return table; }

std::optional<DType> dtype_named(std::string_view name) {
    for (const auto& row : table) {
        if (row.name == name) return row.dtype;
    }
    return std::nullopt;
}

bool holds(DType wide, DType narrow) {
    if (wide == narrow) return true;
    const FloatFormat &to = info(wide).format, &from = info(narrow).format;
    return to.specials == FloatSpecials::ieee && to.mantissa_bits >= from.mantissa_bits && to.spacing <= from.spacing &&
           to.greatest >= from.greatest;
}

}  // namespace heddle
