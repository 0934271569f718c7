// Whose memory tensors get: the system's, or, while a MemorySourceScope lives, that of somebody who brings their own. Every piece
// of memory for elements comes from allocate_buffer (tensor_data.h), which asks here; so nothing else needs to know.
#pragma once

#include <cstddef>
#include <memory>

namespace heddle {

// Threads may call at once.
class MemorySource {
public:
    virtual ~MemorySource() = default;
    // At a multiple of buffer_alignment, with anything in it. Null: there is not so much.
    virtual void* allocate(size_t bytes) noexcept = 0;
    // What `allocate` gave, of as many bytes; from any thread, also after the scope has ended.
    virtual void release(void* memory, size_t bytes) noexcept = 0;
};

// From now on, memory that this thread asks for comes from `source`, which lives as long as what it gave; null: from the
// system. Scopes may stand within each other.
class MemorySourceScope {
public:
    explicit MemorySourceScope(std::shared_ptr<MemorySource> source) noexcept;
    ~MemorySourceScope();
    MemorySourceScope(const MemorySourceScope&) = delete;
    MemorySourceScope& operator=(const MemorySourceScope&) = delete;

private:
    std::shared_ptr<MemorySource> before_;
};

// This thread's; null: the system.
const std::shared_ptr<MemorySource>& memory_source() noexcept;

}  // namespace heddle
