#include "support/tensor_data.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

namespace heddle {

// No machine has more for one tensor; a sanitizer ends the program that asks for more.
constexpr size_t largest_buffer = size_t{1} << 39;

std::shared_ptr<std::byte> allocate_buffer(size_t bytes) {
    size_t rounded = (bytes + 2 * buffer_alignment - 1) / buffer_alignment * buffer_alignment;
    if (rounded < bytes || rounded > largest_buffer) return nullptr;
    void* memory = std::aligned_alloc(buffer_alignment, rounded);
    if (!memory) return nullptr;
    std::memset(memory, 0, rounded);
    return {static_cast<std::byte*>(memory), [](std::byte* p) { std::free(p); }};
}

TensorData::TensorData(DType dtype, std::vector<int64_t> shape) : dtype_(dtype), shape_(std::move(shape)) {
    owned_ = allocate_buffer(static_cast<size_t>(byte_size()));
    if (!owned_) throw std::bad_alloc();
    data_ = owned_.get();
}

TensorData::TensorData(DType dtype, std::vector<int64_t> shape, std::shared_ptr<const void> owner,
                       const std::byte* bytes)
    : dtype_(dtype), shape_(std::move(shape)), borrowed_(std::move(owner)), data_(bytes) {}

int64_t TensorData::size() const {
    int64_t n = 1;
    for (int64_t extent : shape_) n *= extent;
    return n;
}

std::byte* TensorData::mutable_data() {
    assert(owned_ && "borrowed memory is not ours to write");
    return owned_.get();
}

namespace {

template <typename T>
T load(const std::byte* data, int64_t index) {
    T value;
    std::memcpy(&value, data + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return value;
}

template <typename T>
void store(std::byte* data, int64_t index, T value) {
    std::memcpy(data + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

// Calls `f` with a value of the C++ type that stores `dtype` (halves as their bits).
template <typename F>
auto with_type(DType dtype, F f) {
    switch (dtype) {
    case DType::boolean:
    case DType::uint8: return f(uint8_t{});
    case DType::int8: return f(int8_t{});
    case DType::int16: return f(int16_t{});
    case DType::int32: return f(int32_t{});
    case DType::int64: return f(int64_t{});
    case DType::uint16:
    case DType::float16:
    case DType::bfloat16: return f(uint16_t{});
    case DType::uint32: return f(uint32_t{});
    case DType::uint64: return f(uint64_t{});
    case DType::float32: return f(float{});
    case DType::float64: return f(double{});
    case DType::complex64:
    case DType::complex128: break;  // by their parts
    }
    return f(uint8_t{});
}

// Truncates, saturates, and sends NaN to zero.
template <typename T>
T saturate(double value) {
    if (std::isnan(value)) return 0;
    if (value <= static_cast<double>(std::numeric_limits<T>::lowest())) return std::numeric_limits<T>::lowest();
    if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(value);
}

}  // namespace

double TensorData::real_at(int64_t index) const {
    if (dtype_ == DType::float16) return float_from_half(load<uint16_t>(data_, index));
    if (dtype_ == DType::bfloat16) return float_from_bfloat16(load<uint16_t>(data_, index));
    if (is_complex(dtype_)) return reals().real_at(2 * index);
    return with_type(dtype_, [&](auto zero) { return static_cast<double>(load<decltype(zero)>(data_, index)); });
}

int64_t TensorData::integer_at(int64_t index) const {
    if (is_float(dtype_) || is_complex(dtype_)) return saturate<int64_t>(real_at(index));
    return with_type(dtype_, [&](auto zero) { return static_cast<int64_t>(load<decltype(zero)>(data_, index)); });
}

void TensorData::set_real(int64_t index, double value) {
    std::byte* data = mutable_data();
    if (dtype_ == DType::float16) return store(data, index, half_from_float(static_cast<float>(value)));
    if (dtype_ == DType::bfloat16) return store(data, index, bfloat16_from_float(static_cast<float>(value)));
    if (dtype_ == DType::boolean) return store(data, index, static_cast<uint8_t>(value != 0));
    if (is_complex(dtype_)) {
        TensorData parts = reals();
        parts.set_real(2 * index, value);
        return parts.set_real(2 * index + 1, 0);
    }
    with_type(dtype_, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (std::is_floating_point_v<T>) {
            store(data, index, static_cast<T>(value));
        } else {
            store(data, index, saturate<T>(value));
        }
    });
}

void TensorData::set_integer(int64_t index, int64_t value) {
    if (is_float(dtype_) || is_complex(dtype_)) return set_real(index, static_cast<double>(value));
    if (dtype_ == DType::boolean) return store(mutable_data(), index, static_cast<uint8_t>(value != 0));
    with_type(dtype_, [&](auto zero) { store(mutable_data(), index, static_cast<decltype(zero)>(value)); });
}

TensorData TensorData::clone() const {
    TensorData copy(dtype_, shape_);
    if (byte_size() > 0) std::memcpy(copy.mutable_data(), data_, static_cast<size_t>(byte_size()));
    return copy;
}

TensorData TensorData::reshaped(std::vector<int64_t> shape) const { return viewed(dtype_, std::move(shape)); }

TensorData TensorData::viewed(DType dtype, std::vector<int64_t> shape) const {
    TensorData view = *this;
    view.dtype_ = dtype;
    view.shape_ = std::move(shape);
    assert(view.byte_size() == byte_size());
    return view;
}

TensorData TensorData::reals() const {
    if (!is_complex(dtype_)) return *this;
    std::vector<int64_t> shape = shape_;
    shape.push_back(2);
    return viewed(real_type(dtype_), std::move(shape));
}

float float_from_half(uint16_t bits) {
    uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    uint32_t exponent = (bits >> 10) & 0x1Fu;
    uint32_t mantissa = bits & 0x3FFu;
    if (exponent == 0) {
        float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
        return sign ? -magnitude : magnitude;
    }
    uint32_t wide = exponent == 31 ? 0x7F800000u | (mantissa << 13) : ((exponent + 112) << 23) | (mantissa << 13);
    return std::bit_cast<float>(sign | wide);
}

uint16_t half_from_float(float value) {
    uint32_t bits = std::bit_cast<uint32_t>(value);
    uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
    uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return static_cast<uint16_t>(sign | 0x7E00u);
    if (magnitude >= 0x477FF000u) return static_cast<uint16_t>(sign | 0x7C00u);  // rounds to 65536 or more
    if (magnitude < 0x38800000u) {
        // Subnormal in half: an integer multiple of 2^-24, rounded to even by the float addition's own rounding.
        float scaled = std::ldexp(std::bit_cast<float>(magnitude), 24);
        return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(scaled)));
    }
    uint32_t rounded = magnitude - 0x38000000u;
    rounded += 0xFFFu + ((rounded >> 13) & 1u);
    return static_cast<uint16_t>(sign | (rounded >> 13));
}

float float_from_bfloat16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t bfloat16_from_float(float value) {
    uint32_t bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
    return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace heddle
