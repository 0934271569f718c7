// One memory scope of a virtual device, in this process: so many bytes, counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "support/tensor_data.h"

namespace heddle::running {

class ScopeMemory : public std::enable_shared_from_this<ScopeMemory> {
public:
    explicit ScopeMemory(int64_t bytes) : bytes_(bytes) {}  // 0: as much as there is

    // Aligned and with slack, as all buffers. Null: there is not that much left. The last owner gives it back: what is
    // asked for again, of the same size, as the next run does, gets it as it is, without the system's clearing it.
    std::shared_ptr<std::byte> allocate(int64_t bytes);

    int64_t bytes() const { return bytes_; }
    int64_t used() const { return used_; }
    int64_t most_used() const { return most_; }

private:
    void count(int64_t used);
    std::shared_ptr<std::byte> taken_again(int64_t bytes);
    void give_back(std::shared_ptr<std::byte> memory, int64_t bytes);

    const int64_t bytes_;
    std::atomic<int64_t> used_ = 0, most_ = 0;
    std::mutex mutex_;
    std::multimap<int64_t, std::shared_ptr<std::byte>> kept_;  // by size, not in use
    int64_t kept_bytes_ = 0;                                   // with those in use at most what was in use at once
};

}  // namespace heddle::running
