#include "runtime/result_memory.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <deque>
#include <mutex>
#include <new>
#include <utility>

#include "runtime/result_bytes.h"

namespace heddle::runtime {
namespace {

constexpr int64_t smallest = int64_t{64} << 10;  // what is less costs nothing worth remembering
constexpr int64_t small = 256;                   // or next to nothing, and a loop hardly more

}  // namespace

struct ResultMemory::Kept {
    std::mutex mutex;
    std::deque<std::pair<int64_t, std::shared_ptr<std::byte>>> free;  // bytes and memory, the oldest first
    int64_t bytes = 0, most = 0;

    // Of so many bytes, or up to twice as many: and how many.
    std::pair<int64_t, std::shared_ptr<std::byte>> take(int64_t size) {
        const std::lock_guard lock(mutex);
        auto best = free.end();
        for (auto one = free.begin(); one != free.end(); ++one) {
            const bool fits = one->first >= size && one->first / 2 <= size;
            // Of equal ones the latest: it is most likely in a cache.
            if (fits && (best == free.end() || one->first <= best->first)) best = one;
        }
        if (best == free.end()) return {0, nullptr};
        auto found = std::move(*best);
        free.erase(best);
        bytes -= found.first;
        return found;
    }

    void give(int64_t size, std::shared_ptr<std::byte> memory) {
        const std::lock_guard lock(mutex);
        free.emplace_back(size, std::move(memory));
        bytes += size;
        for (; bytes > most; free.pop_front()) bytes -= free.front().first;
    }
};

ResultMemory::ResultMemory() : kept_(std::make_shared<Kept>()) {}

void ResultMemory::keep(int64_t bytes) {
    const std::lock_guard lock(kept_->mutex);
    kept_->most = std::max(kept_->most, bytes);
}

int64_t ResultMemory::bytes() const {
    const std::lock_guard lock(kept_->mutex);
    return kept_->bytes;
}

int64_t ResultMemory::capacity(int64_t bytes) {
    if (bytes < smallest) return bytes;
    const auto step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes)) / 8);
    return (bytes + step - 1) / step * step;
}

std::shared_ptr<std::byte> ResultMemory::small_block() {
    std::shared_ptr<std::byte>& block = small_[next_small_++ % small_blocks];
    if (block.use_count() == 1) {
        std::atomic_thread_fence(std::memory_order_acquire);  // behind all that those did who had it
        return block;
    }
    block = allocate_buffer(small);
    if (!block) throw std::bad_alloc();
    return block;
}

TensorData ResultMemory::make(const TensorType& type) {
    const int64_t bytes = bytes_now(type);
    std::vector<int64_t> shape = numbers_of(type.shape);
    if (bytes <= small) return {type.dtype, std::move(shape), small_block()};
    if (bytes < smallest) return {type.dtype, std::move(shape)};
    auto [size, memory] = kept_->take(bytes);
    if (!memory) memory = allocate_buffer(static_cast<size_t>(size = capacity(bytes)));
    if (!memory) throw std::bad_alloc();
    std::byte* const begin = memory.get();
    std::shared_ptr<std::byte> lent(begin, [memory = std::move(memory), size, to = std::weak_ptr(kept_)](std::byte*) mutable {
        if (const auto kept = to.lock()) kept->give(size, std::move(memory));
    });
    return {type.dtype, std::move(shape), std::move(lent)};
}

}  // namespace heddle::runtime
