// The allocator of a caller as where tensors' memory comes from.
#pragma once

#include <atomic>

#include "api/heddle/c_api.h"
#include "support/diagnostic.h"
#include "support/memory_source.h"

namespace heddle::api {

class CallerMemory : public MemorySource {
public:
    explicit CallerMemory(const heddle_allocator& allocator) : allocator_(allocator) {}

    // Memory that does not lie at a multiple of the alignment is given back.
    void* allocate(size_t bytes) noexcept override;
    void release(void* memory, size_t bytes) noexcept override;

    // Whether it ever gave memory at another alignment than it was asked for.
    bool misaligned() const { return misaligned_; }

private:
    const heddle_allocator allocator_;
    std::atomic<bool> misaligned_ = false;
};

// Code api.allocator.
Diagnostic misaligned_memory();

}  // namespace heddle::api
