#include "cache/hash.h"

#include <algorithm>

#include <llvm/Support/BLAKE3.h>
#include <llvm/Support/xxhash.h>

#include "support/descriptor.h"

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

namespace {

std::string text_of(llvm::BLAKE3& hasher) {
    std::string text;
    for (uint8_t byte : hasher.final<16>()) {
        for (int digit : {byte >> 4, byte & 15}) text += "0123456789abcdef"[digit];
    }
    return text;
}

}  // namespace

std::string digest(std::span<const std::byte> bytes) { return digest(bytes, nullptr); }

std::string digest(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) {
    constexpr size_t step = size_t{16} << 20;
    llvm::BLAKE3 hasher;
    while (!bytes.empty()) {
        const auto part = bytes.first(std::min(step, bytes.size()));
        hasher.update(array_of(part));
        give_back_pages(owner, part);
        bytes = bytes.subspan(part.size());
    }
    return text_of(hasher);
}

std::string digest(std::string_view text) { return digest(std::as_bytes(std::span(text))); }

}  // namespace heddle::cache
