#include "devices/scope_memory.h"

namespace heddle::devices {

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
    auto memory = allocate_buffer(static_cast<size_t>(bytes));
    if (!memory) {
        used_ -= bytes;
        return nullptr;
    }
    count(used);
    std::byte* const begin = memory.get();
    return {begin, [self = shared_from_this(), memory = std::move(memory), bytes](std::byte*) mutable {
                memory.reset();
                self->used_ -= bytes;
            }};
}

}  // namespace heddle::devices
