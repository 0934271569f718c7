// Memory of tensors that grow along one dimension (plan/growth.h). Several tensors may lie in it, each the first places of a
// longer one: what a decoder hands back as its cache, token by token. A place belongs to who appends it first, so whoever still
// has a shorter tensor keeps it as it is.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "support/tensor_data.h"

namespace heddle::runtime {

class GrowingMemory {
public:
    // `all.shape()[dimension]` is the capacity; nothing lies in it yet.
    static std::shared_ptr<GrowingMemory> make(TensorData all, size_t dimension);
    // The one that lives and begins there; null: there is none. From any thread.
    static std::shared_ptr<GrowingMemory> find(const void* begin);
    ~GrowingMemory();
    GrowingMemory(const GrowingMemory&) = delete;
    GrowingMemory& operator=(const GrowingMemory&) = delete;

    const TensorData& all() const { return all_; }
    std::byte* data() const { return begin_; }
    size_t dimension() const { return dimension_; }
    int64_t capacity() const { return all_.shape()[dimension_]; }
    std::vector<int64_t> strides() const;  // of all, in elements
    // Takes the places from `from` to `to`. False, and nothing has changed, where it has no such places, or some are
    // somebody's.
    bool append(int64_t from, int64_t to);

private:
    GrowingMemory(TensorData all, size_t dimension);

    TensorData all_;
    std::byte* begin_;
    const size_t dimension_;
    std::mutex mutex_;
    int64_t used_ = 0;  // places that are somebody's
};

// A tensor that is the first `length` places of such memory.
struct Growing {
    std::shared_ptr<GrowingMemory> memory;
    int64_t length = 0;

    DType dtype() const { return memory->all().dtype(); }
    std::vector<int64_t> shape() const;
    // Row-major, in memory of its own.
    TensorData dense() const;
    // The same; where it lies row-major in the memory that grows, there, and only to be read.
    TensorData row_major() const;
    // As a run takes and gives it: its elements lie `strides` apart, and not as a tensor's do.
    TensorData as_it_lies() const;
};

// The tensor that lies there; nothing: it is none of a growing memory. Strides in elements.
std::optional<Growing> find_growing(const void* begin, DType dtype, std::span<const int64_t> shape,
                                    std::span<const int64_t> strides);
std::vector<int64_t> row_major_strides(std::span<const int64_t> shape);

// `begin` in other memory, which nobody has yet, with places for `length` of them in all; they are taken. Of these shapes but for the
// dimension.
Growing grow_from(const TensorData& begin, std::shared_ptr<GrowingMemory> memory, int64_t length);
Growing grow_from(const Growing& begin, std::shared_ptr<GrowingMemory> memory, int64_t length);

}  // namespace heddle::runtime
