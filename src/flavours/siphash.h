// SipHash-2-4 (Aumasson and Bernstein, 2012) of whole 64-bit words: a pseudo-random function with a key of 128 bits.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>

namespace heddle::flavours {

using PrfKey = std::array<uint64_t, 2>;

inline uint64_t siphash(const PrfKey& key, std::span<const uint64_t> words) {
    uint64_t a = key[0] ^ 0x736f6d6570736575, b = key[1] ^ 0x646f72616e646f6d;
    uint64_t c = key[0] ^ 0x6c7967656e657261, d = key[1] ^ 0x7465646279746573;
    auto rounds = [&](int count) {
        for (; count > 0; --count) {
            a += b, b = std::rotl(b, 13) ^ a, a = std::rotl(a, 32);
            c += d, d = std::rotl(d, 16) ^ c;
            a += d, d = std::rotl(d, 21) ^ a;
            c += b, b = std::rotl(b, 17) ^ c, c = std::rotl(c, 32);
        }
    };
    auto absorb = [&](uint64_t word) { d ^= word, rounds(2), a ^= word; };
    for (uint64_t word : words) absorb(word);
    absorb(uint64_t{words.size() * 8} << 56);  // the last block: no bytes left over, and the length
    c ^= 0xff;
    rounds(4);
    return a ^ b ^ c ^ d;
}

}  // namespace heddle::flavours
