#include "cache/hash.h"

#include <llvm/Support/BLAKE3.h>
#include <llvm/Support/xxhash.h>

namespace heddle::cache {
namespace {

llvm::ArrayRef<uint8_t> array_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

}  // namespace

Checksum checksum(std::span<const std::byte> bytes) {
    const llvm::XXH128_hash_t hash = llvm::xxh3_128bits(array_of(bytes));
    return {hash.low64, hash.high64};
}

std::string digest(std::span<const std::byte> bytes) {
    llvm::BLAKE3 hasher;
    hasher.update(array_of(bytes));
    std::string text;
    for (uint8_t byte : hasher.final<16>()) {
        for (int digit : {byte >> 4, byte & 15}) text += "0123456789abcdef"[digit];
    }
    return text;
}

std::string digest(std::string_view text) { return digest(std::as_bytes(std::span(text))); }

}  // namespace heddle::cache
