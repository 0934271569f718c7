// The memory of one message, and how far it is filled or read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/transport.h"

namespace heddle::transport {

class Memory {
public:
    explicit Memory(Parts parts);
    int64_t bytes() const { return bytes_; }
    int64_t done() const { return done_; }
    int64_t left() const { return bytes_ - done_; }
    // The parts of the next `most` bytes, as far as `list` may have so many; how many bytes these are.
    size_t next(size_t most, std::vector<std::span<std::byte>>& list, size_t most_parts = 64) const;
    void advance(size_t count);
    // Copied to where it is, no more than is left.
    void take(std::span<const std::byte> from);

private:
    std::vector<std::span<std::byte>> parts_;  // none is empty
    int64_t bytes_ = 0, done_ = 0;
    size_t part_ = 0, in_part_ = 0;
};

}  // namespace heddle::transport
