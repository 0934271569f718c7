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
};

enum class DTypeClass : uint8_t { boolean, signed_integer, unsigned_integer, floating, complex };

struct DTypeInfo {
    DType dtype;
    std::string_view name;      // as templates spell it: bool, int8 .. complex128
    std::string_view c_name;    // the C type that stores it; of complex numbers each of two, the real part first
    std::string_view npy_name;  // NumPy's descriptor; empty where NumPy has none
    DTypeClass kind;
    int bits;           // as stored; a bool is stored in a byte
    DType arithmetic;   // the type that arithmetic is done in: halves widen to float32
    DType accumulator;  // the type that sums are kept in
};

const DTypeInfo& info(DType dtype);
std::span<const DTypeInfo> all_dtypes();
std::optional<DType> dtype_named(std::string_view name);

inline std::string_view name(DType dtype) { return info(dtype).name; }
inline int64_t bytes(DType dtype) { return info(dtype).bits / 8; }
inline bool is_float(DType dtype) { return info(dtype).kind == DTypeClass::floating; }
inline bool is_complex(DType dtype) { return dtype == DType::complex64 || dtype == DType::complex128; }
inline bool is_bool(DType dtype) { return dtype == DType::boolean; }
inline bool is_integer(DType dtype) {
    return info(dtype).kind == DTypeClass::signed_integer || info(dtype).kind == DTypeClass::unsigned_integer;
}
inline bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

// The type of each part of a complex type; any other type is its own.
inline DType real_type(DType dtype) {
    return dtype == DType::complex64 ? DType::float32 : dtype == DType::complex128 ? DType::float64 : dtype;
}

}  // namespace heddle
