// One memory scope of a virtual device, in this process: so many bytes, counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "support/tensor_data.h"

namespace heddle::devices {

class ScopeMemory : public std::enable_shared_from_this<ScopeMemory> {
public:
    explicit ScopeMemory(int64_t bytes) : bytes_(bytes) {}  // 0: as much as there is

    // Aligned and with slack, as all buffers. Null: there is not that much left. Freed by the last owner.
    std::shared_ptr<std::byte> allocate(int64_t bytes);

    int64_t bytes() const { return bytes_; }
    int64_t used() const { return used_; }
    int64_t most_used() const { return most_; }

private:
    void count(int64_t used);

    const int64_t bytes_;
    std::atomic<int64_t> used_ = 0, most_ = 0;
};

}  // namespace heddle::devices
