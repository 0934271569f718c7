// Memory that sessions use in turn: as large as the largest needs; what a run finds in it does not matter.
#include "runtime/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "helpers/running.h"
#include "plan/kernel_former.h"
#include "plan/memory.h"

namespace heddle::runtime {
namespace {

constexpr int poison = 0xff;  // of which floats are NaN

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

TEST(Arena, what_grows_finds_room_ahead) {
    const plan::Plan plan = plan_of(windows(12));
    plan::Numbers numbers(plan);
    Arena arena(1);
    const std::byte* last = nullptr;
    int moved = 0;
    for (numbers.workspace_bytes = 1'000'000; numbers.workspace_bytes < 10'000'000; numbers.workspace_bytes += 100'000) {
        ASSERT_TRUE(arena.take(plan, numbers));
        moved += arena.workspace() != last;
        last = arena.workspace();
        EXPECT_LE(arena.bytes(), numbers.workspace_bytes * 5 / 4 + plan.scratch_bytes + 64);
    }
    EXPECT_LE(moved, 12);
    numbers.workspace_bytes = 1'000;
    ASSERT_TRUE(arena.take(plan, numbers));
    EXPECT_EQ(arena.workspace(), last) << "it serves what is smaller";
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
            margins += buffer.is_filled() ? 1 : 0;
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

plan::Buffer buffer_with_margins(std::mt19937_64& random) {
    const DType dtypes[] = {DType::float32, DType::uint8, DType::float64, DType::float16, DType::int64, DType::boolean};
    const auto dimensions = static_cast<size_t>(1 + random() % 4);
    plan::Buffer buffer{.dtype = dtypes[random() % std::size(dtypes)], .first = 0, .last = 0};
    std::vector<Size> shape(dimensions);
    for (Size& extent : shape) extent = static_cast<int64_t>(random() % 4 ? random() % 4 : random() % 80);
    buffer.sizes = shape;
    buffer.storage = plan::StorageMap::row_major(shape);
    std::shuffle(buffer.storage.order.begin(), buffer.storage.order.end(), random);
    for (size_t d = 0; d < dimensions; d++) {
        buffer.storage.margin_before[d] = static_cast<int64_t>(random() % 3);
        buffer.storage.margin_after[d] = static_cast<int64_t>(random() % 3);
    }
    ++buffer.storage.margin_before[random() % dimensions];
    buffer.filling = buffer.storage.filling = is_float(buffer.dtype) && random() % 2 ? -INFINITY : random() % 2;
    buffer.bytes = buffer.storage.elements() * bytes(buffer.dtype);
    buffer.base = buffer.storage.offset() * bytes(buffer.dtype);
    return buffer;
}

// Against writing the whole buffer and then its interior.
void expect_filled(const std::byte* memory, const plan::Buffer& buffer) {
    TensorData expected(buffer.dtype, {buffer.storage.elements()});
    for (int64_t i = 0; i < expected.size(); i++) {
        if (is_float(buffer.dtype))
            expected.set_real(i, buffer.filling);
        else
            expected.set_integer(i, static_cast<int64_t>(buffer.filling));
    }
    const auto strides = buffer.storage.strides();
    const auto& shape = buffer.storage.extent;
    int64_t points = 1;
    for (int64_t extent : shape) points *= extent;
    for (int64_t point = 0; point < points; point++) {
        int64_t left = point, at = buffer.base;
        for (size_t d = 0; d < shape.size(); left /= shape[d], d++)
            at += left % shape[d] * strides[d] * bytes(buffer.dtype);
        std::memset(expected.mutable_data() + at, poison, static_cast<size_t>(bytes(buffer.dtype)));
    }
    ASSERT_EQ(std::memcmp(memory, expected.data(), static_cast<size_t>(expected.byte_size())), 0)
        << buffer.storage.text();
}

TEST(Arena, margins_are_filled_and_nothing_else) {
    std::mt19937_64 random(3);
    plan::Plan plan{.target = detect_host()};
    std::map<std::string, int32_t> trees;
    for (int b = 0; b < 200; b++) {
        plan::Buffer buffer = buffer_with_margins(random);
        auto made = schedules::schedule(plan::form_margins(buffer.storage, buffer.dtype), plan.target);
        ASSERT_TRUE(made) << render(made.error());
        const std::string key = schedules::key(made->tree, plan.target);
        const auto [tree, added] = trees.try_emplace(key, static_cast<int32_t>(plan.trees.size()));
        if (added) {
            plan.keys.push_back(key);
            plan.trees.push_back(std::make_shared<const schedules::Tree>(std::move(made->tree)));
        }
        plan.run.push_back({{.name = "margins",
                             .tree = tree->second,
                             .buffers = {b},
                             .numbers = made->launch.numbers,
                             .tasks = made->launch.tasks,
                             .layout = true,
                             .fills = true}});
        plan.buffers.push_back(std::move(buffer));
        plan.graph_tensor.push_back(no_id);
    }
    plan::find_lifetimes(plan);
    plan::place_memory(plan, true);
    const auto fine = plan::verify(plan);
    ASSERT_TRUE(fine) << render(fine.error());
    const auto arena = std::make_shared<Arena>(2);
    ASSERT_TRUE(arena->take(plan, plan::Numbers(plan)));
    std::memset(arena->workspace(), poison, static_cast<size_t>(plan.workspace_bytes));
    Session session(compiled(plan), std::make_shared<ThreadPool>(2), arena);
    ASSERT_TRUE(session.run({}));
    for (const plan::Buffer& buffer : plan.buffers) expect_filled(arena->workspace() + buffer.offset, buffer);
}

// Windows of several widths and fillings, side by side, some of which are joined again.
Graph random_windows(uint64_t seed) {
    std::mt19937_64 random(seed);
    heddle::Session session(library());
    std::vector<TensorId> known{session.add_input("x", {DType::float32, {1, 4, 13, 11}})};
    for (int i = 0; i < 8; i++) {
        const TensorId x = known[known.size() - 1 - random() % std::min<size_t>(known.size(), 3)];
        const auto pads = static_cast<int64_t>(random() % 3);
        const int64_t kernel = 2 * pads + 1;
        if (random() % 4 == 0) {
            known.push_back(call(session, "max_pool", {x},
                                 {{"kernel", StaticValue::of(kernel)}, {"pads", StaticValue::of(pads)}}));
        } else if (random() % 4 == 0) {
            known.push_back(call(session, "add", {x, known[random() % known.size()]}));
        } else {
            const TensorId w = session.add_constant("w", random_tensor({4, 4, kernel, kernel}, random(), 0.2));
            known.push_back(call(session, "relu", {call(session, "conv", {x, w}, {{"pads", StaticValue::of(pads)}})}));
        }
    }
    return session.finish({known.back(), known[known.size() / 2]});
}

TEST(Arena, what_a_run_finds_does_not_matter) {
    const auto pool = std::make_shared<ThreadPool>(2);
    size_t filled = 0;
    for (uint64_t seed = 0; seed < 12; seed++) {
        const Graph graph = random_windows(seed);
        const auto executable = compiled(plan_of(graph));
        filled += std::ranges::count_if(executable->plan().buffers, &plan::Buffer::is_filled);
        const auto arena = std::make_shared<Arena>(2);
        Session session(executable, pool, arena);
        const std::vector<TensorData> inputs{random_tensor({1, 4, 13, 11}, seed)};
        const auto expected = Session(compiled(plan_of(graph, {.keep_all = true})), pool).run(inputs);
        ASSERT_TRUE(expected);
        for (int run = 0; run < 3; run++) {
            const auto found = session.run(inputs);
            ASSERT_TRUE(found);
            for (size_t o = 0; o < found->size(); o++) {
                const auto size = static_cast<size_t>((*found)[o].byte_size());
                EXPECT_EQ(std::memcmp((*found)[o].data(), (*expected)[o].data(), size), 0) << seed << " run " << run;
            }
            std::memset(arena->workspace(), poison, static_cast<size_t>(executable->plan().workspace_bytes));
        }
    }
    EXPECT_GT(filled, 30u);
}

}  // namespace
}  // namespace heddle::runtime
