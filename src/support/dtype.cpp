#include "support/dtype.h"

#include <array>

namespace heddle {
namespace {

using enum DType;
using Class = DTypeClass;

constexpr std::array table = {
    DTypeInfo{boolean, "bool", "uint8_t", "|b1", Class::boolean, 8, boolean, boolean},
    DTypeInfo{int8, "int8", "int8_t", "|i1", Class::signed_integer, 8, int8, int8},
    DTypeInfo{int16, "int16", "int16_t", "<i2", Class::signed_integer, 16, int16, int16},
    DTypeInfo{int32, "int32", "int32_t", "<i4", Class::signed_integer, 32, int32, int32},
    DTypeInfo{int64, "int64", "int64_t", "<i8", Class::signed_integer, 64, int64, int64},
    DTypeInfo{uint8, "uint8", "uint8_t", "|u1", Class::unsigned_integer, 8, uint8, uint8},
    DTypeInfo{uint16, "uint16", "uint16_t", "<u2", Class::unsigned_integer, 16, uint16, uint16},
    DTypeInfo{uint32, "uint32", "uint32_t", "<u4", Class::unsigned_integer, 32, uint32, uint32},
    DTypeInfo{uint64, "uint64", "uint64_t", "<u8", Class::unsigned_integer, 64, uint64, uint64},
    DTypeInfo{float16, "float16", "uint16_t", "<f2", Class::floating, 16, float32, float32},
    DTypeInfo{bfloat16, "bfloat16", "uint16_t", "", Class::floating, 16, float32, float32},
    DTypeInfo{float32, "float32", "float", "<f4", Class::floating, 32, float32, float32},
    DTypeInfo{float64, "float64", "double", "<f8", Class::floating, 64, float64, float64},
    DTypeInfo{complex64, "complex64", "float", "<c8", Class::complex, 64, complex64, complex64},
    DTypeInfo{complex128, "complex128", "double", "<c16", Class::complex, 128, complex128, complex128},
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

}  // namespace heddle
