#include "api/caller_memory.h"

#include <cstdint>

#include <fmt/format.h>

#include "support/tensor_data.h"

namespace heddle::api {

void* CallerMemory::allocate(size_t bytes) noexcept {
    void* const memory = allocator_.allocate(allocator_.owner, bytes, buffer_alignment);
    if (!memory || reinterpret_cast<uintptr_t>(memory) % buffer_alignment == 0) return memory;
    misaligned_ = true;
    release(memory, bytes);
    return nullptr;
}

void CallerMemory::release(void* memory, size_t bytes) noexcept { allocator_.release(allocator_.owner, memory, bytes); }

Diagnostic misaligned_memory() {
    return {.code = "api.allocator",
            .summary = "the allocator gave memory at an address that kernels cannot use",
            .expected = fmt::format("a multiple of {}, the alignment that it was asked for", buffer_alignment),
            .remedy = "let the allocator heed its third argument"};
}

}  // namespace heddle::api
