// A dense row-major array of elements in memory, owned or borrowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "support/dtype.h"

namespace heddle {

// Memory that we allocate is aligned to this many bytes and has as many readable ones behind it.
inline constexpr size_t buffer_alignment = 64;

// `bytes` zeroed bytes, aligned, with slack behind. Null if the system has not that much.
std::shared_ptr<std::byte> allocate_buffer(size_t bytes);

// Copies share memory; use `clone` for one of its own. Shape in elements; memory may be unaligned and without slack
// behind it if it was borrowed (a mapped file, a caller's array).
class TensorData {
public:
    TensorData() = default;
    // Owned and zeroed. The bytes must be counted by 64 bits; std::bad_alloc, as of any container, if too many.
    TensorData(DType dtype, std::vector<int64_t> shape);
    // Owned: `memory` is allocate_buffer's, of as many bytes as the elements have.
    TensorData(DType dtype, std::vector<int64_t> shape, std::shared_ptr<std::byte> memory);
    // Borrowed: `owner` keeps `bytes` alive.
    TensorData(DType dtype, std::vector<int64_t> shape, std::shared_ptr<const void> owner, const std::byte* bytes);

    DType dtype() const { return dtype_; }
    const std::vector<int64_t>& shape() const { return shape_; }
    int64_t size() const;  // elements
    int64_t byte_size() const { return size() * bytes(dtype_); }
    bool owned() const { return owned_ != nullptr; }
    const std::shared_ptr<const void>& lender() const { return borrowed_; }  // of borrowed memory, else null
    const std::byte* data() const { return data_; }
    std::byte* mutable_data();  // owned memory only

    template <typename T>
    const T* as() const {
        return reinterpret_cast<const T*>(data_);
    }
    template <typename T>
    T* mutable_as() {
        return reinterpret_cast<T*>(mutable_data());
    }

    // One element as a number; exact for every dtype but 64-bit integers beyond 2^53 in `real_at`. Of a complex one the
    // real part; setting it makes the imaginary part 0.
    double real_at(int64_t index) const;
    int64_t integer_at(int64_t index) const;
    // Rounds, truncates or wraps to the element type (language.md's casts).
    void set_real(int64_t index, double value);
    void set_integer(int64_t index, int64_t value);

    TensorData clone() const;
    // The same memory under another shape of as many elements.
    TensorData reshaped(std::vector<int64_t> shape) const;
    // The same memory as elements of another type, of as many bytes.
    TensorData viewed(DType dtype, std::vector<int64_t> shape) const;
    // Complex elements as reals, their parts along one more last dimension of 2; anything else as it is.
    TensorData reals() const;

private:
    DType dtype_ = DType::float32;
    std::vector<int64_t> shape_;
    std::shared_ptr<std::byte> owned_;
    std::shared_ptr<const void> borrowed_;
    const std::byte* data_ = nullptr;
};

}  // namespace heddle
