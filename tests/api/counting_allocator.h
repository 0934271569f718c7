// An allocator that knows all that it gave.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include <gtest/gtest.h>

#include "heddle/heddle.h"

namespace heddle::tests {

class CountingAllocator : public heddle::Allocator {
public:
    void* allocate(size_t bytes, size_t alignment) noexcept override {
        const std::lock_guard lock(mutex_);
        if (fail_at >= 0 && calls == fail_at) {
            calls++;
            return nullptr;
        }
        calls++;
        void* memory = nullptr;
        if (::posix_memalign(&memory, alignment, bytes) != 0) return nullptr;
        std::memset(memory, 0xa5, bytes);  // nobody may count on zeros
        live_[memory] = bytes;
        live_bytes += bytes;
        most_live_bytes = std::max(most_live_bytes, live_bytes);
        all_bytes += bytes;
        return memory;
    }
    void release(void* memory, size_t bytes) noexcept override {
        const std::lock_guard lock(mutex_);
        const auto found = live_.find(memory);
        if (found == live_.end() || found->second != bytes) {
            ADD_FAILURE() << "memory is given back that was not given, or of another size";
            return;
        }
        live_bytes -= bytes;
        live_.erase(found);
        std::free(memory);
    }
    // Whether an address lies in what was given and not given back.
    bool has(const void* address) const {
        const std::lock_guard lock(mutex_);
        auto next = live_.upper_bound(const_cast<void*>(address));
        if (next == live_.begin()) return false;
        --next;
        return static_cast<const char*>(address) < static_cast<const char*>(next->first) + next->second;
    }

    long calls = 0, fail_at = -1;
    size_t live_bytes = 0, most_live_bytes = 0, all_bytes = 0;

private:
    mutable std::mutex mutex_;
    std::map<void*, size_t> live_;
};

}  // namespace heddle::tests
