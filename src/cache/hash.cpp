#include "cache/hash.h"

#include <algorithm>
#include <utility>

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

struct Digest::State {
    llvm::BLAKE3 hasher;
    std::shared_ptr<const void> owner;
    std::span<const std::byte> read;  // of the owner's, still in memory

    void give_back() { give_back_pages(std::exchange(owner, nullptr), std::exchange(read, {})); }
};

Digest::Digest() : state_(std::make_unique<State>()) {}
Digest::~Digest() = default;

void Digest::add(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) {
    constexpr size_t step = size_t{16} << 20;
    if (owner != state_->owner) state_->give_back();
    while (!bytes.empty()) {
        const auto part = bytes.first(std::min(step, bytes.size()));
        state_->hasher.update(array_of(part));
        bytes = bytes.subspan(part.size());
        const bool behind = !state_->read.empty() && state_->read.data() <= part.data();
        state_->owner = owner;
        state_->read = {behind ? state_->read.data() : part.data(), part.data() + part.size()};
        if (state_->read.size() >= step) state_->give_back();
    }
}

std::string Digest::text() {
    state_->give_back();
    std::string text;
    for (uint8_t byte : state_->hasher.final<16>()) {
        for (int digit : {byte >> 4, byte & 15}) text += "0123456789abcdef"[digit];
    }
    return text;
}

std::string digest(std::span<const std::byte> bytes) { return digest(bytes, nullptr); }

std::string digest(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) {
    Digest all;
    all.add(bytes, owner);
    return all.text();
}

std::string digest(std::string_view text) { return digest(std::as_bytes(std::span(text))); }

}  // namespace heddle::cache
