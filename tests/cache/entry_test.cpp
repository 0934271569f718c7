// Files of the cache as bytes: read back, and refused if any byte of them is another.
#include "cache/entry.h"

#include <gtest/gtest.h>

#include <cstring>

namespace heddle::cache {
namespace {

const std::string name = "0123456789abcdef0123456789abcdef";

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string file_of(const std::string& label, const std::string& contents) {
    return header(name, label, bytes_of(contents)) + contents + std::string(trailing_zeros, '\0');
}

TEST(CacheEntry, is_read_as_it_was_written) {
    for (const std::string& contents : {std::string(), std::string("x"), std::string(1000, '\1')}) {
        const std::string file = file_of("two words", contents);
        const auto entry = read_entry(bytes_of(file));
        ASSERT_TRUE(entry);
        EXPECT_EQ(entry->name, name);
        EXPECT_EQ(entry->label, "two words");
        ASSERT_EQ(entry->contents.size(), contents.size());
        EXPECT_EQ(std::memcmp(entry->contents.data(), contents.data(), contents.size()), 0);
        const auto place = entry->contents.data() - bytes_of(file).data();
        EXPECT_EQ(place % 64, 0) << "as our own memory is aligned";
        EXPECT_GE(file.size(), static_cast<size_t>(place) + contents.size() + 64) << "and has slack";
    }
}

TEST(CacheEntry, is_refused_with_any_bit_changed) {
    const std::string file = file_of("label", "some contents");
    for (size_t i = 0; i < file.size(); i++) {
        for (int bit = 0; bit < 8; bit++) {
            std::string damaged = file;
            damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
            EXPECT_FALSE(read_entry(bytes_of(damaged))) << "byte " << i << " bit " << bit;
        }
    }
}

TEST(CacheEntry, is_refused_with_another_length) {
    const std::string file = file_of("label", "some contents");
    for (size_t length = 0; length < file.size(); length++)
        EXPECT_FALSE(read_entry(bytes_of(file.substr(0, length)))) << length;
    EXPECT_FALSE(read_entry(bytes_of(file + '\0')));
    EXPECT_FALSE(read_entry(bytes_of(file + file)));
}

// A long line for people is cut; the header has its bound all the same.
TEST(CacheEntry, has_a_bounded_header) {
    const std::string file = file_of(std::string(100000, 'l'), "contents");
    const auto entry = read_entry(bytes_of(file));
    ASSERT_TRUE(entry);
    EXPECT_LT(entry->label.size(), longest_header);
    const auto begin = read_header(bytes_of(file).first(longest_header), file.size());
    ASSERT_TRUE(begin);
    EXPECT_EQ(begin->label, entry->label);
}

TEST(CacheDigest, is_blake3) {  // the first half of the test vectors' for no bytes, and for "abc"
    EXPECT_EQ(digest(""), "af1349b9f5f9a1a6a0404dea36dcc949");
    EXPECT_EQ(digest("abc"), "6437b3ac38465133ffb63b75273a8db5");
}

}  // namespace
}  // namespace heddle::cache
