// A file of the cache: a header, a line for people, the contents. All of it is checked before any of it is used.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cache/hash.h"

namespace heddle::cache {

inline constexpr size_t name_bytes = 32;        // a digest in hexadecimal
inline constexpr size_t longest_header = 4096;  // with the line for people
inline constexpr size_t trailing_zeros = 64;

// What stands before the contents. They begin at a multiple of 64 bytes, and 64 bytes of zeros stand behind them, so
// that they lie in a mapped file as our own memory does (support/tensor_data.h). `label` is cut where it is too long.
std::string header(std::string_view name, std::string_view label, std::span<const std::byte> contents);

struct Entry {
    std::string_view name, label;
    std::span<const std::byte> contents;
};
// Nothing where a length does not fit, or a byte of the file is not the one that was written.
std::optional<Entry> read_entry(std::span<const std::byte> file);
// Without the contents, which are not looked at: of a file of `size` bytes of which `begin` are the first.
std::optional<Entry> read_header(std::span<const std::byte> begin, uint64_t size);

}  // namespace heddle::cache
