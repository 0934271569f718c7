// Element types, as a data table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace heddle {

enum class DType : uint8_t {
    boolean,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float16,
    bfloat16,
    float32,
    float64,
    complex64,
    complex128,
    float8e4m3fn,
    float8e4m3fnuz,
    float8e5m2,
    float8e5m2fnuz,
    int4,
    uint4,
};

enum class DTypeClass : uint8_t { boolean, signed_integer, unsigned_integer, floating, complex };

// What the codes are that stand for no finite number.
enum class FloatSpecials : uint8_t {
    ieee,        // the highest exponent: infinities and NaNs
    only_nan,    // "fn": no infinities; all ones but the sign is NaN
    single_nan,  // "fnuz": no infinities, no negative zero; its code is the only NaN
};

// Sign, exponent, mantissa. A subnormal has exponent 0, the value mantissa * spacing.
struct FloatFormat {
    int mantissa_bits = 0;
    int bias = 0;
    FloatSpecials specials = FloatSpecials::ieee;
    double greatest = 0;  // of the finite values
    double least_normal = 0;
    double spacing = 0;        // of subnormals
    double unit_roundoff = 0;  // half the spacing of 1 .. 2
};

struct DTypeInfo {
    DType dtype;
    std::string_view name;      // as templates spell it: bool, int8 .. complex128, int4 ...
    std::string_view c_name;    // the C type that stores it; of complex numbers each of two, the real part first
    std::string_view npy_name;  // NumPy's descriptor; empty where NumPy has none
    DTypeClass kind;
    int bits;            // of its codes; a bool is stored in a byte, and so is what has fewer than 8,
                         // zeros above
    DType arithmetic;    // the type that arithmetic is done in: halves widen to float32
    DType accumulator;   // the type that sums are kept in
    FloatFormat format;  // of floating types
};

const DTypeInfo& info(DType dtype);
std::span<const DTypeInfo> all_dtypes();
std::optional<DType> dtype_named(std::string_view name);

inline std::string_view name(DType dtype) { return info(dtype).name; }
inline int64_t bytes(DType dtype) { return (info(dtype).bits + 7) / 8; }
inline bool is_float(DType dtype) { return info(dtype).kind == DTypeClass::floating; }
inline bool is_complex(DType dtype) { return dtype == DType::complex64 || dtype == DType::complex128; }
inline bool is_bool(DType dtype) { return dtype == DType::boolean; }
inline bool is_integer(DType dtype) {
    return info(dtype).kind == DTypeClass::signed_integer || info(dtype).kind == DTypeClass::unsigned_integer;
}
// Only stored: widened to its arithmetic type when read, rounded or wrapped when stored.
inline bool is_narrow(DType dtype) { return info(dtype).arithmetic != dtype; }
// The integer of type `dtype` that has the low bits of `value`.
inline int64_t wrapped_to(DType dtype, int64_t value) {
    const int unused = 64 - info(dtype).bits;
    const uint64_t high = static_cast<uint64_t>(value) << unused;
    return info(dtype).kind == DTypeClass::signed_integer ? static_cast<int64_t>(high) >> unused
                                                          : static_cast<int64_t>(high >> unused);
}
// Every value of the floating type `narrow` is one of `wide`: infinities, NaN and zeros too.
bool holds(DType wide, DType narrow);

// The type of each part of a complex type; any other type is its own.
inline DType real_type(DType dtype) {
    return dtype == DType::complex64 ? DType::float32 : dtype == DType::complex128 ? DType::float64 : dtype;
}

}  // namespace heddle
