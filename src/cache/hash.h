// Hashes of bytes: a fast one that notices damage, and a cryptographic one that stands for contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace heddle::cache {

// XXH3 with 128 bits: some 16 GB a second, as fast as memory gives the bytes. Nobody is kept from making two contents
// of one checksum.
struct Checksum {
    uint64_t low = 0, high = 0;
    bool operator==(const Checksum&) const = default;
};
Checksum checksum(std::span<const std::byte> bytes);

// The first 128 bits of BLAKE3, as 32 hexadecimal digits: equal for equal contents alone.
std::string digest(std::span<const std::byte> bytes);
std::string digest(std::string_view text);
// The same of bytes that `owner` keeps. Pages of a mapped file leave memory as soon as they are read.
std::string digest(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner);

// The same of bytes that come one after another.
class Digest {
public:
    Digest();
    ~Digest();
    // As above; pages between these bytes and the ones before leave memory, too.
    void add(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner = nullptr);
    std::string text();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace heddle::cache
