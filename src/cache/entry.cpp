#include "cache/entry.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstring>

namespace heddle::cache {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint64_t expected_magic = 0x3165686361634448;  // "HDcache1"
constexpr size_t alignment = 64;

struct Header {
    uint64_t magic = expected_magic;
    uint64_t file_bytes = 0;
    uint64_t contents_begin = 0;
    uint64_t label_bytes = 0;
    char name[name_bytes] = {};
    Checksum contents;
    Checksum self;  // of all before the contents, these bytes as zeros
};
static_assert(sizeof(Header) == 96);

Checksum checksum_of(std::string begin) {
    constexpr Checksum none;
    std::memcpy(begin.data() + offsetof(Header, self), &none, sizeof none);
    return checksum(std::as_bytes(std::span(begin)));
}

bool lengths_fit(const Header& header, uint64_t size) {
    return header.magic == expected_magic && header.file_bytes == size && header.label_bytes <= longest_header &&
           sizeof header + header.label_bytes <= header.contents_begin && header.contents_begin <= longest_header &&
           header.contents_begin % alignment == 0 && size >= header.contents_begin + trailing_zeros;
}

}  // namespace

std::string header(std::string_view name, std::string_view label, std::span<const std::byte> contents) {
    assert(name.size() == name_bytes);
    label = label.substr(0, longest_header - sizeof(Header));
    Header header;
    header.contents_begin = (sizeof header + label.size() + alignment - 1) / alignment * alignment;
    header.file_bytes = header.contents_begin + contents.size() + trailing_zeros;
    header.label_bytes = label.size();
    std::memcpy(header.name, name.data(), name_bytes);
    header.contents = checksum(contents);
    std::string text(reinterpret_cast<const char*>(&header), sizeof header);
    text.append(label).resize(header.contents_begin);
    header.self = checksum_of(text);
    std::memcpy(text.data(), &header, sizeof header);
    return text;
}

std::optional<Entry> read_header(std::span<const std::byte> begin, uint64_t size) {
    Header header;
    if (begin.size() < sizeof header) return std::nullopt;
    std::memcpy(&header, begin.data(), sizeof header);
    if (!lengths_fit(header, size) || begin.size() < header.contents_begin) return std::nullopt;
    const char* text = reinterpret_cast<const char*>(begin.data());
    if (checksum_of(std::string(text, header.contents_begin)) != header.self) return std::nullopt;
    return Entry{{text + offsetof(Header, name), name_bytes}, {text + sizeof header, header.label_bytes}, {}};
}

std::optional<Entry> read_entry(std::span<const std::byte> file) {
    auto entry = read_header(file, file.size());
    if (!entry) return std::nullopt;
    Header header;
    std::memcpy(&header, file.data(), sizeof header);
    entry->contents = file.subspan(header.contents_begin, file.size() - header.contents_begin - trailing_zeros);
    const auto behind = file.last(trailing_zeros);
    const bool zeros = std::ranges::all_of(behind, [](std::byte byte) { return byte == std::byte{0}; });
    if (!zeros || checksum(entry->contents) != header.contents) return std::nullopt;
    return entry;
}

}  // namespace heddle::cache
