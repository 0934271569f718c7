// Memory that sessions use in turn: as large as the largest needs, margins as each of them wants them.
#include "runtime/arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "helpers/running.h"

namespace heddle::runtime {
namespace {

// A chain of windows that look over the border, so that there are buffers with margins.
Graph windows(int64_t size) {
    heddle::Session session(library());
    TensorId x = session.add_input("x", {DType::float32, {1, 8, size, size}});
    for (uint64_t i = 0; i < 3; i++) {
        const TensorId w = session.add_constant("w", random_tensor({8, 8, 3, 3}, i, 0.2));
        x = call(session, "relu", {call(session, "conv", {x, w}, {{"pads", StaticValue::of(1)}})});
    }
    return session.finish({x});
}

TEST(Arena, sessions_use_it_in_turn) {
    const auto pool = std::make_shared<ThreadPool>(2);
    const auto arena = std::make_shared<Arena>(2);
    std::map<int64_t, std::shared_ptr<const Executable>> executables;
    int64_t most = 0, margins = 0;
    for (int64_t size : {12, 30, 21}) {
        executables[size] = compiled(plan_of(windows(size)));
        ASSERT_TRUE(executables[size]);
        most = std::max(most, Session(executables[size], pool).bytes());
        for (const auto& buffer : executables[size]->plan().buffers)
            margins += buffer.kind == plan::Buffer::Kind::margins ? 1 : 0;
    }
    EXPECT_GT(margins, 3);
    std::map<int64_t, std::unique_ptr<Session>> sessions;
    for (const auto& [size, executable] : executables)
        sessions[size] = std::make_unique<Session>(executable, pool, arena);
    EXPECT_EQ(arena->bytes(), 0) << "nothing has run";
    // Grown, taken over, and used twice by one.
    for (int64_t size : {12, 30, 12, 21, 21, 30, 12}) {
        const std::vector<TensorData> inputs = {random_tensor({1, 8, size, size}, 5)};
        const auto expected = Session(executables[size], pool).run(inputs), found = sessions[size]->run(inputs);
        ASSERT_TRUE(expected && found);
        EXPECT_EQ(std::memcmp((*expected)[0].data(), (*found)[0].data(), static_cast<size_t>((*found)[0].byte_size())),
                  0)
            << size;
    }
    EXPECT_GE(arena->bytes(), most);
    EXPECT_LE(arena->bytes(), most + 2 * 64);
}

// Against writing the whole buffer and then its interior.
TEST(Arena, margins_are_filled_and_nothing_else) {
    std::mt19937_64 random(3);
    for (int round = 0; round < 200; round++) {
        const auto dimensions = static_cast<size_t>(random() % 5);
        std::vector<int64_t> shape(dimensions);
        for (int64_t& extent : shape) extent = static_cast<int64_t>(random() % 4);
        plan::Buffer buffer{.dtype = round % 2 ? DType::float32 : DType::uint8, .filling = 3};
        buffer.storage = plan::StorageMap::row_major(shape);
        std::shuffle(buffer.storage.order.begin(), buffer.storage.order.end(), random);
        for (size_t d = 0; d < dimensions; d++) {
            buffer.storage.margin_before[d] = static_cast<int64_t>(random() % 3);
            buffer.storage.margin_after[d] = static_cast<int64_t>(random() % 3);
        }
        TensorData found(buffer.dtype, {buffer.storage.elements()}),
            expected(buffer.dtype, {buffer.storage.elements()});
        for (int64_t i = 0; i < expected.size(); i++) expected.set_real(i, 3);
        const auto strides = buffer.storage.strides();
        int64_t points = 1;
        for (int64_t extent : shape) points *= extent;
        for (int64_t point = 0; point < points; point++) {
            int64_t left = point, at = buffer.storage.offset();
            for (size_t d = 0; d < dimensions; left /= shape[d], d++) at += left % shape[d] * strides[d];
            expected.set_real(at, 0);
        }
        fill_margins(found.mutable_data(), buffer);
        ASSERT_EQ(std::memcmp(found.data(), expected.data(), static_cast<size_t>(found.byte_size())), 0)
            << buffer.storage.text();
    }
}

}  // namespace
}  // namespace heddle::runtime
