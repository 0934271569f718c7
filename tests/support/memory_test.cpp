// Buffers of any size, and files in memory once.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "support/file.h"
#include "support/resident_memory.h"
#include "support/tensor_data.h"

namespace heddle {
namespace {

TEST(Memory, buffers_are_zero_and_aligned_with_bytes_behind) {
    const size_t page = size_t{2} << 20;
    for (size_t bytes : {size_t{0}, size_t{1}, page - 1, 2 * page - 128, 2 * page, 5 * page + 77}) {
        const auto buffer = allocate_buffer(bytes);
        ASSERT_TRUE(buffer);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.get()) % buffer_alignment, 0u);
        std::byte* const end = buffer.get() + bytes + buffer_alignment;
        EXPECT_TRUE(std::all_of(buffer.get(), end, [](std::byte b) { return b == std::byte{0}; })) << bytes;
        std::fill(buffer.get(), end, std::byte{1});
    }
}

TEST(Memory, large_buffers_are_given_back_when_they_are_freed) {
    constexpr int64_t size = 64 << 20;
    auto buffer = allocate_buffer(size);
    ASSERT_TRUE(buffer);
    std::fill(buffer.get(), buffer.get() + size, std::byte{1});
    const int64_t full = resident_bytes();
    EXPECT_GE(full, size);
    EXPECT_GE(peak_resident_bytes(), full - size / 2);
    buffer.reset();
    EXPECT_LT(resident_bytes(), full - size / 2);
}

TEST(Memory, a_file_is_mapped_once) {
    const auto path = std::filesystem::path(testing::TempDir()) / ("heddle_mapped_" + std::to_string(::getpid()));
    std::ofstream(path, std::ios::binary) << "one";
    const auto link = path.string() + "_link";
    std::filesystem::create_hard_link(path, link);
    auto first = map_file(path), second = map_file(path), third = map_file(link);
    ASSERT_TRUE(first && second && third);
    EXPECT_EQ(first->owner, second->owner);
    EXPECT_EQ(first->owner, third->owner) << "it is the same file";
    std::filesystem::remove(path);
    std::filesystem::remove(link);
    std::ofstream(path, std::ios::binary) << "another";
    const auto other = map_file(path);
    ASSERT_TRUE(other);
    EXPECT_NE(first->owner, other->owner);
    EXPECT_EQ(static_cast<char>(first->bytes[0]), 'o');
    EXPECT_EQ(static_cast<char>(other->bytes[0]), 'a');
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace heddle
