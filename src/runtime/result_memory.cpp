#include "runtime/result_memory.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <new>
#include <utility>

namespace heddle::runtime {
namespace {

constexpr int64_t smallest = int64_t{64} << 10;  // what is less costs nothing worth remembering

}  // namespace

struct ResultMemory::Kept {
    std::mutex mutex;
    std::deque<std::pair<int64_t, std::shared_ptr<std::byte>>> free;  // bytes and memory, the oldest first
    int64_t bytes = 0, most = 0;

    std::shared_ptr<std::byte> take(int64_t size) {
        const std::lock_guard lock(mutex);
        // The latest: it is most likely in a cache.
        const auto found =
            std::ranges::find(free.rbegin(), free.rend(), size, [](const auto& one) { return one.first; });
        if (found == free.rend()) return nullptr;
        std::shared_ptr<std::byte> memory = std::move(found->second);
        free.erase(std::next(found).base());
        bytes -= size;
        return memory;
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

TensorData ResultMemory::make(const TensorType& type) {
    const int64_t size = type.byte_size();
    if (size < smallest) return {type.dtype, type.extents()};
    std::shared_ptr<std::byte> memory = kept_->take(size);
    if (!memory) memory = allocate_buffer(static_cast<size_t>(size));
    if (!memory) throw std::bad_alloc();
    std::byte* const begin = memory.get();
    std::shared_ptr<std::byte> lent(begin,
                                    [memory = std::move(memory), size, to = std::weak_ptr(kept_)](std::byte*) mutable {
                                        if (const auto kept = to.lock()) kept->give(size, std::move(memory));
                                    });
    return {type.dtype, type.extents(), std::move(lent)};
}

}  // namespace heddle::runtime
