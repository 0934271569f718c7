#include "running/scope_memory.h"

namespace heddle::running {

void ScopeMemory::count(int64_t used) {
    int64_t most = most_;
    while (most < used && !most_.compare_exchange_weak(most, used)) {
    }
}

std::shared_ptr<std::byte> ScopeMemory::allocate(int64_t bytes) {
    const int64_t used = used_ += bytes;
    if (bytes_ > 0 && used > bytes_) {
        used_ -= bytes;
        return nullptr;
    }
    auto memory = taken_again(bytes);
    if (!memory) memory = allocate_buffer(static_cast<size_t>(bytes));
    if (!memory) {
        used_ -= bytes;
        return nullptr;
    }
    count(used);
    std::byte* const begin = memory.get();
    return {begin, [self = shared_from_this(), memory = std::move(memory), bytes](std::byte*) mutable {
                self->give_back(std::move(memory), bytes);
            }};
}

std::shared_ptr<std::byte> ScopeMemory::taken_again(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(bytes);
    if (found == kept_.end()) return nullptr;
    auto memory = std::move(found->second);
    kept_.erase(found);
    kept_bytes_ -= bytes;
    return memory;
}

void ScopeMemory::give_back(std::shared_ptr<std::byte> memory, int64_t bytes) {
    const int64_t used = used_ -= bytes;
    const std::lock_guard lock(mutex_);
    if (used + kept_bytes_ + bytes > most_) return;
    kept_.emplace(bytes, std::move(memory));
    kept_bytes_ += bytes;
}

}  // namespace heddle::running
