#include "support/tensor_data.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include <sys/mman.h>

#include "support/memory_source.h"
#include "support/narrow_float.h"

namespace heddle {

// No machine has more for one tensor; a sanitizer ends the program that asks for more.
constexpr size_t largest_buffer = size_t{1} << 39;

// The system's large pages. To come by memory for the first time is several times faster in these than in small ones.
constexpr size_t large_page = size_t{2} << 20;
constexpr size_t mapped_from = 2 * large_page;

namespace {

// Memory of its own from the system: zero already, in large pages where the system has them, and gone when it is freed.
std::shared_ptr<std::byte> map_buffer(size_t bytes) {
    const size_t reserved = bytes + large_page;
    void* const memory = ::mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    const auto address = reinterpret_cast<uintptr_t>(memory);
    auto* const begin = reinterpret_cast<std::byte*>((address + large_page - 1) / large_page * large_page);
    ::madvise(begin, bytes, MADV_HUGEPAGE);  // a wish: it may fail
    return {begin, [memory, reserved](std::byte*) { ::munmap(memory, reserved); }};
}

std::shared_ptr<std::byte> buffer_from(const std::shared_ptr<MemorySource>& source, size_t bytes) {
    void* const memory = source->allocate(bytes);
    if (!memory) return nullptr;
    std::memset(memory, 0, bytes);
    return {static_cast<std::byte*>(memory), [source, bytes](std::byte* p) { source->release(p, bytes); }};
}

}  // namespace

std::shared_ptr<std::byte> allocate_buffer(size_t bytes) {
    size_t rounded = (bytes + 2 * buffer_alignment - 1) / buffer_alignment * buffer_alignment;
    if (rounded < bytes || rounded > largest_buffer) return nullptr;
    if (const auto& source = memory_source()) return buffer_from(source, rounded);
    if (rounded >= mapped_from) return map_buffer(rounded);
    void* memory = std::aligned_alloc(buffer_alignment, rounded);
    if (!memory) return nullptr;
    std::memset(memory, 0, rounded);
    return {static_cast<std::byte*>(memory), [](std::byte* p) { std::free(p); }};
}

TensorData::TensorData(DType dtype, std::vector<int64_t> shape) : dtype_(dtype), shape_(std::move(shape)) {
    size_t count = static_cast<size_t>(bytes(dtype));
    bool empty = std::ranges::find(shape_, 0) != shape_.end();
    for (int64_t extent : shape_) {
        if (!empty && __builtin_mul_overflow(count, static_cast<size_t>(extent), &count)) throw std::bad_alloc();
    }
    owned_ = allocate_buffer(empty ? 0 : count);
    if (!owned_) throw std::bad_alloc();
    data_ = owned_.get();
}

TensorData::TensorData(DType dtype, std::vector<int64_t> shape, std::shared_ptr<std::byte> memory)
    : dtype_(dtype), shape_(std::move(shape)), owned_(std::move(memory)), data_(owned_.get()) {}

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

// Calls `f` with a value of the C++ type that stores `dtype` (floats that are only stored as their codes).
template <typename F>
auto with_type(DType dtype, F f) {
    switch (dtype) {
    case DType::boolean:
    case DType::uint8:
    case DType::int4:
    case DType::uint4:
    case DType::float8e4m3fn:
    case DType::float8e4m3fnuz:
    case DType::float8e5m2:
    case DType::float8e5m2fnuz: return f(uint8_t{});
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

// Of an integer type of at most 8 bits.
int64_t saturate_to(DType dtype, double value) {
    const bool is_signed = info(dtype).kind == DTypeClass::signed_integer;
    const int64_t highest = (int64_t{1} << (info(dtype).bits - is_signed)) - 1, lowest = is_signed ? -highest - 1 : 0;
    return std::clamp(saturate<int64_t>(value), lowest, highest);
}

bool is_narrow_float(DType dtype) { return is_narrow(dtype) && is_float(dtype); }

}  // namespace

double TensorData::real_at(int64_t index) const {
    if (is_complex(dtype_)) return reals().real_at(2 * index);
    return with_type(dtype_, [&](auto zero) {
        const auto value = load<decltype(zero)>(data_, index);
        if constexpr (std::is_unsigned_v<decltype(zero)>) {
            if (is_narrow_float(dtype_))
                return static_cast<double>(float_from_code(dtype_, static_cast<uint32_t>(value)));
            if (is_narrow(dtype_)) return static_cast<double>(wrapped_to(dtype_, static_cast<int64_t>(value)));
        }
        return static_cast<double>(value);
    });
}

int64_t TensorData::integer_at(int64_t index) const {
    if (is_float(dtype_) || is_complex(dtype_)) return saturate<int64_t>(real_at(index));
    return with_type(dtype_, [&](auto zero) {
        const auto value = static_cast<int64_t>(load<decltype(zero)>(data_, index));
        return is_narrow(dtype_) ? wrapped_to(dtype_, value) : value;
    });
}

void TensorData::set_real(int64_t index, double value) {
    std::byte* data = mutable_data();
    if (dtype_ == DType::boolean) return store(data, index, static_cast<uint8_t>(value != 0));
    if (is_complex(dtype_)) {
        TensorData parts = reals();
        parts.set_real(2 * index, value);
        return parts.set_real(2 * index + 1, 0);
    }
    if (is_narrow(dtype_) && !is_float(dtype_)) return set_integer(index, saturate_to(dtype_, value));
    with_type(dtype_, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (std::is_floating_point_v<T>) {
            store(data, index, static_cast<T>(value));
        } else if (is_narrow(dtype_)) {
            store(data, index, static_cast<T>(code_from_real(dtype_, value)));
        } else {
            store(data, index, saturate<T>(value));
        }
    });
}

void TensorData::set_integer(int64_t index, int64_t value) {
    const bool is_double = dtype_ == DType::float64 || dtype_ == DType::complex128;
    if (is_float(dtype_) || is_complex(dtype_))
        return set_real(index, is_double ? static_cast<double>(value) : odd_double(value));
    if (dtype_ == DType::boolean) return store(mutable_data(), index, static_cast<uint8_t>(value != 0));
    if (is_narrow(dtype_)) value &= (int64_t{1} << info(dtype_).bits) - 1;
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

}  // namespace heddle
