// Memory of results goes from who lets go of it to the next run, and no more of it is kept than one run needs.
#include "runtime/result_memory.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

namespace heddle::runtime {
namespace {

const TensorType large{DType::float32, {Size(1024), Size(64)}}, other{DType::float64, {Size(1024), Size(64)}},
    small{DType::float32, {Size(16)}};

TEST(ResultMemory, IsTakenAgain) {
    ResultMemory memory;
    memory.keep(large.byte_size());
    std::optional<TensorData> first = memory.make(large);
    const std::byte* const place = first->data();
    EXPECT_TRUE(first->owned());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(place) % buffer_alignment, 0u);
    TensorData copy = *first;
    first.reset();
    EXPECT_EQ(memory.bytes(), 0) << "somebody has it";
    {
        const TensorData second = memory.make(large);
        EXPECT_NE(second.data(), place);
        copy = TensorData();
        EXPECT_EQ(memory.bytes(), large.byte_size());
        const TensorData third = memory.make(other), fourth = memory.make(large);
        EXPECT_NE(third.data(), place) << "of another size";
        EXPECT_EQ(fourth.data(), place);
    }
    EXPECT_EQ(memory.bytes(), large.byte_size()) << "there is room for one of them";
}

TEST(ResultMemory, KeepsNoMoreThanItIsTold) {
    ResultMemory memory;
    {
        const TensorData none = memory.make(large);
    }
    EXPECT_EQ(memory.bytes(), 0);
    memory.keep(2 * large.byte_size());
    memory.keep(large.byte_size());
    {
        const TensorData a = memory.make(large), b = memory.make(large), c = memory.make(large), d = memory.make(small);
    }
    EXPECT_EQ(memory.bytes(), 2 * large.byte_size());
    {
        const TensorData twice_as_large = memory.make(other);
    }
    EXPECT_EQ(memory.bytes(), other.byte_size()) << "the oldest goes first";
}

TEST(ResultMemory, ServesSizesNearby) {
    const auto rows = [](int64_t count) { return TensorType{DType::float32, {Size(count), Size(64)}}; };
    ResultMemory memory;
    memory.keep(ResultMemory::capacity(rows(1030).byte_size()));
    std::optional<TensorData> first = memory.make(rows(1030));
    const std::byte* const place = first->data();
    first.reset();
    for (const int64_t count : {1031, 1100, 1030, 600, 1024}) {
        const TensorData other = memory.make(rows(count));
        EXPECT_EQ(other.data(), place) << count;
        EXPECT_EQ(other.byte_size(), count * 256);
    }
    EXPECT_NE(memory.make(rows(300)).data(), place) << "it would hold more than twice what it needs";
    EXPECT_NE(memory.make(rows(2000)).data(), place) << "there is no room";
    for (int64_t bytes = 1; bytes < int64_t{1} << 50; bytes += 1 + bytes / 7) {
        EXPECT_GE(ResultMemory::capacity(bytes), bytes);
        EXPECT_LE(ResultMemory::capacity(bytes), bytes + bytes / 8 + 1);
    }
}

TEST(ResultMemory, EndsBeforeItsTensors) {
    std::optional<ResultMemory> memory(std::in_place);
    memory->keep(large.byte_size());
    TensorData kept = memory->make(large);
    memory.reset();
    kept.set_real(5, 3);
    EXPECT_EQ(kept.real_at(5), 3);
}

TEST(ResultMemory, MayBeGivenBackByAnyThread) {
    ResultMemory memory;
    memory.keep(4 * large.byte_size());
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&] {
            for (int i = 0; i < 200; i++) memory.make(large).set_real(0, i);
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(memory.bytes(), 4 * large.byte_size());
    EXPECT_GE(memory.bytes(), large.byte_size());
}

}  // namespace
}  // namespace heddle::runtime
