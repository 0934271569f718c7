// Memory of tensors that grow: whose its places are.
#include "runtime/growing_memory.h"

#include <gtest/gtest.h>

#include "helpers/running.h"

namespace heddle::runtime {
namespace {

TEST(GrowingMemory, a_place_is_whose_it_was_first) {
    const auto memory = GrowingMemory::make(TensorData(DType::float32, {2, 10, 3}), 1);
    EXPECT_EQ(memory->capacity(), 10);
    EXPECT_EQ(memory->strides(), (std::vector<int64_t>{30, 3, 1}));
    EXPECT_TRUE(memory->append(0, 4));
    EXPECT_FALSE(memory->append(0, 4));
    EXPECT_FALSE(memory->append(5, 6));
    EXPECT_FALSE(memory->append(4, 11));
    EXPECT_FALSE(memory->append(4, 3));
    EXPECT_TRUE(memory->append(4, 4));
    EXPECT_TRUE(memory->append(4, 10));
    EXPECT_FALSE(memory->append(10, 11));
}

TEST(GrowingMemory, is_found_where_it_begins_while_it_lives) {
    auto memory = GrowingMemory::make(TensorData(DType::float32, {2, 10, 3}), 1);
    const std::byte* begin = memory->data();
    EXPECT_EQ(GrowingMemory::find(begin), memory);
    EXPECT_EQ(GrowingMemory::find(begin + 4), nullptr);
    EXPECT_EQ(GrowingMemory::find(nullptr), nullptr);
    memory.reset();
    EXPECT_EQ(GrowingMemory::find(begin), nullptr);
}

TEST(GrowingMemory, begins_with_what_it_grows_from) {
    for (size_t dimension : {0, 1, 2}) {
        const TensorData begin = random_tensor({3, 4, 5}, 1);
        const auto memory_of = [&](int64_t capacity) {
            std::vector<int64_t> shape = begin.shape();
            shape[dimension] = capacity;
            return GrowingMemory::make(TensorData(DType::float32, shape), dimension);
        };
        const int64_t length = begin.shape()[dimension];
        const auto same = [&](const Growing& growing) {
            const TensorData dense = Growing{growing.memory, length}.dense();
            return dense.shape() == begin.shape() &&
                   std::memcmp(dense.data(), begin.data(), static_cast<size_t>(begin.byte_size())) == 0;
        };
        const Growing first = grow_from(begin, memory_of(9), length + 2);
        EXPECT_EQ(first.shape()[dimension], length + 2);
        EXPECT_TRUE(same(first));
        EXPECT_TRUE(same(grow_from(Growing{first.memory, length}, memory_of(20), length + 1)));
        EXPECT_FALSE(first.memory->append(length, length + 3));
        EXPECT_TRUE(first.memory->append(length + 2, length + 3));
    }
    const TensorData empty(DType::float32, {3, 0, 5});
    EXPECT_EQ(grow_from(empty, GrowingMemory::make(TensorData(DType::float32, {3, 9, 5}), 1), 1).length, 1);
}

}  // namespace
}  // namespace heddle::runtime
