#include "runtime/growing_memory.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace heddle::runtime {
namespace {

// Those that live, by where they begin.
struct Living {
    std::mutex mutex;
    std::map<const void*, std::weak_ptr<GrowingMemory>> all;
};

Living& living() {
    static auto& shared = *new Living;  // never destroyed: tensors may end after all else
    return shared;
}

// What lies together: all from the dimension on of the shorter, once for each of the dimensions before.
void copy_places(std::byte* to, int64_t to_places, const std::byte* from, int64_t from_places, int64_t places,
                 const TensorData& like, size_t dimension) {
    int64_t before = 1, behind = bytes(like.dtype());
    for (size_t d = 0; d < dimension; d++) before *= like.shape()[d];
    for (size_t d = dimension + 1; d < like.shape().size(); d++) behind *= like.shape()[d];
    if (places == 0 || behind == 0) return;
    for (int64_t i = 0; i < before; i++)
        std::memcpy(to + i * to_places * behind, from + i * from_places * behind, static_cast<size_t>(places * behind));
}

}  // namespace

GrowingMemory::GrowingMemory(TensorData all, size_t dimension)
    : all_(std::move(all)), begin_(all_.mutable_data()), dimension_(dimension) {}

std::shared_ptr<GrowingMemory> GrowingMemory::make(TensorData all, size_t dimension) {
    std::shared_ptr<GrowingMemory> memory(new GrowingMemory(std::move(all), dimension));
    const std::lock_guard lock(living().mutex);
    living().all[memory->begin_] = memory;
    return memory;
}

std::shared_ptr<GrowingMemory> GrowingMemory::find(const void* begin) {
    const std::lock_guard lock(living().mutex);
    const auto found = living().all.find(begin);
    return found == living().all.end() ? nullptr : found->second.lock();
}

GrowingMemory::~GrowingMemory() {
    const std::lock_guard lock(living().mutex);
    living().all.erase(begin_);
}

std::vector<int64_t> row_major_strides(std::span<const int64_t> shape) {
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
    return strides;
}

std::vector<int64_t> GrowingMemory::strides() const { return row_major_strides(all_.shape()); }

std::optional<Growing> find_growing(const void* begin, DType dtype, std::span<const int64_t> shape,
                                    std::span<const int64_t> strides) {
    auto memory = GrowingMemory::find(begin);
    if (!memory || memory->all().dtype() != dtype || shape.size() != memory->all().shape().size()) return std::nullopt;
    const std::vector<int64_t>& all = memory->all().shape();
    const std::vector<int64_t> expected = memory->strides();
    for (size_t d = 0; d < shape.size(); d++) {
        const bool fits = d == memory->dimension() ? shape[d] >= 0 && shape[d] <= all[d] : shape[d] == all[d];
        if (!fits || (shape[d] > 1 && strides[d] != expected[d])) return std::nullopt;
    }
    const int64_t length = shape[memory->dimension()];
    return Growing{std::move(memory), length};
}

bool GrowingMemory::append(int64_t from, int64_t to) {
    const std::lock_guard lock(mutex_);
    if (from != used_ || to < from || to > capacity()) return false;
    used_ = to;
    return true;
}

std::vector<int64_t> Growing::shape() const {
    std::vector<int64_t> shape = memory->all().shape();
    shape[memory->dimension()] = length;
    return shape;
}

TensorData Growing::dense() const {
    TensorData result(dtype(), shape());
    copy_places(result.mutable_data(), length, memory->data(), memory->capacity(), length, result, memory->dimension());
    return result;
}

TensorData Growing::row_major() const {
    const std::vector<int64_t>& all = memory->all().shape();
    const bool lies_so = std::all_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(memory->dimension()),
                                     [](int64_t extent) { return extent == 1; });
    return lies_so ? as_it_lies() : dense();
}

TensorData Growing::as_it_lies() const { return {dtype(), shape(), memory, memory->data()}; }

namespace {

Growing grow(const std::byte* from, int64_t from_places, int64_t places, std::shared_ptr<GrowingMemory> memory,
             int64_t length) {
    copy_places(memory->data(), memory->capacity(), from, from_places, places, memory->all(), memory->dimension());
    memory->append(0, length);
    return {std::move(memory), length};
}

}  // namespace

Growing grow_from(const TensorData& begin, std::shared_ptr<GrowingMemory> memory, int64_t length) {
    const int64_t places = begin.shape()[memory->dimension()];
    return grow(begin.data(), places, places, std::move(memory), length);
}

Growing grow_from(const Growing& begin, std::shared_ptr<GrowingMemory> memory, int64_t length) {
    return grow(begin.memory->data(), begin.memory->capacity(), begin.length, std::move(memory), length);
}

}  // namespace heddle::runtime
