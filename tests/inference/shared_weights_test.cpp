// What programs prepare is in memory once: for all shapes, and all sessions of a process.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "helpers/running.h"
#include "inference/engine.h"
#include "runtime/prepared.h"

namespace heddle {
namespace {

using inference::make_engine;
using plan::Buffer;
using Executable = std::shared_ptr<const runtime::Executable>;

// relu(x w1) w2 for so many rows, with weights that are lent.
struct Weights {
    TensorData first = random_tensor({130, 150}, 1), second = random_tensor({150, 170}, 2);
    static TensorData lent(const TensorData& data) {
        auto owner = std::make_shared<TensorData>(data);
        return {data.dtype(), data.shape(), owner, owner->data()};
    }
    Weights lent() const { return {lent(first), lent(second)}; }
    Graph graph(int64_t rows) const {
        Session session(library());
        const TensorId x = session.add_input("x", {DType::float32, {rows, 130}});
        const TensorId h = call(session, "numpy_matmul", {x, session.add_constant("w1", first)});
        const TensorId r = call(session, "relu", {h});
        return session.finish({call(session, "numpy_matmul", {r, session.add_constant("w2", second)})});
    }
};

Executable made(const Graph& graph, inference::Engine& engine) {
    auto result = inference::compile(graph, engine);
    EXPECT_TRUE(result) << (result ? "" : render(result.error()));
    return result ? *result : nullptr;
}

// Where the memory lies that this program's `prepare` filled.
std::set<const std::byte*> places(const Executable& executable) {
    std::set<const std::byte*> places;
    for (size_t b = 0; b < executable->plan().buffers.size(); b++) {
        const auto bytes = executable->prepared(static_cast<int32_t>(b));
        if (!bytes.empty()) places.insert(bytes.data());
    }
    return places;
}

std::vector<TensorData> results(const Executable& executable, int64_t rows) {
    auto found = runtime::Session(executable, std::make_shared<ThreadPool>(2)).run({random_tensor({rows, 130}, 7)});
    EXPECT_TRUE(found) << (found ? "" : render(found.error()));
    return found ? std::move(*found) : std::vector<TensorData>{};
}

bool same_bits(const TensorData& a, const TensorData& b) {
    return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), static_cast<size_t>(a.byte_size())) == 0;
}

TEST(SharedWeights, shapes_of_a_session_share_them) {
    for (const bool is_lent : {true, false}) {
        const Weights weights = is_lent ? Weights().lent() : Weights();
        const auto engine = make_engine(2);
        const Executable first = made(weights.graph(24), *engine);
        ASSERT_EQ(places(first).size(), 2u) << "both are packed";
        for (int64_t rows : {24, 31, 100, 400}) {
            const Executable other = made(weights.graph(rows), *engine);
            EXPECT_EQ(places(other), places(first)) << rows << " rows";
            const Executable alone = made(weights.graph(rows), *make_engine(2));
            EXPECT_NE(places(alone), places(first));
            EXPECT_TRUE(same_bits(results(other, rows)[0], results(alone, rows)[0])) << rows << " rows";
        }
    }
}

// So that large pages of the system hold all of them (runtime/prepared.cpp).
TEST(SharedWeights, of_a_program_lie_side_by_side) {
    const Executable executable = made(Weights().graph(24), *make_engine(1));
    const std::set<const std::byte*> begins = places(executable);
    ASSERT_EQ(begins.size(), 2u);
    const auto distance = *begins.rbegin() - *begins.begin();
    EXPECT_LT(distance, 4 * 160 * 200) << "bytes of either, packed";
    for (const std::byte* begin : begins) EXPECT_EQ(reinterpret_cast<uintptr_t>(begin) % buffer_alignment, 0u);
}

TEST(SharedWeights, sessions_share_them_and_others_do_not) {
    const auto prepared = std::make_shared<runtime::PreparedStore>();
    const auto engine = [&] { return make_engine(1, inference::make_kernel_cache(), prepared); };
    const Weights lent = Weights().lent(), owned;
    const Executable first = made(lent.graph(24), *engine());
    EXPECT_EQ(places(made(lent.graph(24), *engine())), places(first));
    Weights other = owned;
    other.first = other.first.clone();
    other.first.set_real(7, 100);
    const Executable second = made(owned.graph(24), *engine()), third = made(other.graph(24), *engine());
    auto both = places(second);
    both.merge(places(third));
    EXPECT_EQ(both.size(), 3u) << "one of the two is the same";
    EXPECT_TRUE(same_bits(results(first, 24)[0], results(second, 24)[0]));
    EXPECT_FALSE(same_bits(results(first, 24)[0], results(third, 24)[0]));
}

// Who lends has gone, and other bytes lie at the same address.
TEST(SharedWeights, an_address_says_nothing_when_its_owner_is_gone) {
    const auto engine = make_engine(1);
    Weights weights;
    const TensorData memory = weights.first.clone();
    const auto borrow = [&] {
        weights.first = {memory.dtype(), memory.shape(), std::shared_ptr<const void>(memory.data(), [](const void*) {}),
                         memory.data()};
        return made(weights.graph(24), *engine);
    };
    const Executable first = borrow();
    const TensorData before = results(first, 24)[0];
    TensorData(memory).set_real(3, 50);
    const Executable second = borrow();
    EXPECT_NE(places(second), places(first));
    EXPECT_FALSE(same_bits(results(second, 24)[0], before));
    EXPECT_TRUE(same_bits(results(first, 24)[0], before));
}

TEST(SharedWeights, are_freed_with_their_last_program) {
    runtime::PreparedStore store;
    runtime::Block block = allocate_buffer(100);
    EXPECT_EQ(store.add("key", block), block);
    EXPECT_EQ(store.add("key", allocate_buffer(100)), block) << "the one that is there";
    EXPECT_EQ(store.find("key"), block);
    EXPECT_EQ(block.use_count(), 1);
    block.reset();
    EXPECT_EQ(store.find("key"), nullptr);
}

// One launch makes two tensors, and a program that may run meanwhile has one of them.
TEST(SharedWeights, a_launch_does_not_write_what_others_read) {
    const Library two = library_with(
        "running:\n  inputs: {c: \"float32[$n, $m]\"}\n  index: \"[$n]\"\n"
        "  outputs: {a: \"float32[$n, $m]\", b: \"float32[$n, $m]\"}\n  body: |\n    scan t < $m:\n"
        "      s[t] = 0.5 * s[t - 1] + c[@n, t] from 0.0\n      m[t] = max(m[t - 1], s[t]) from 0.0\n"
        "      a[@n, t] = s[t]\n      b[@n, t] = m[t]\n");
    Session session(two);
    const TensorId x = session.add_input("x", {DType::float32, {200, 100}});
    auto made = session.apply(**two.find("running"), {session.add_constant("c", random_tensor({200, 100}, 4))}, {});
    ASSERT_TRUE(made) << render(made.error());
    const auto with = [&](const char* name, TensorId other) {
        return (*session.apply(**two.find(name), {x, other}, {}))[0];
    };
    const Graph graph = session.finish({with("add2", (*made)[0]), with("mul", (*made)[1])});
    const plan::Plan whole = plan_of(graph);
    // Without what reads the last of the two.
    plan::Plan part = whole;
    int32_t dropped = -1;
    for (const plan::Batch& batch : part.prepare) {
        for (const plan::Launch& launch : batch) {
            for (int32_t b : launch.buffers) {
                const Buffer& buffer = part.buffers[static_cast<size_t>(b)];
                if (buffer.kind == Buffer::Kind::prepared && buffer.first >= 0) dropped = b;
            }
        }
    }
    ASSERT_GE(dropped, 0);
    for (plan::Batch& batch : part.run) {
        std::erase_if(batch, [&](const plan::Launch& launch) {
            return std::ranges::find(launch.buffers, dropped) != launch.buffers.end();
        });
    }
    part.buffers[static_cast<size_t>(dropped)].first = -1;
    runtime::KernelCache kernels(std::make_shared<backends::LlvmBackend>());
    runtime::PreparedStore store;
    ThreadPool pool(1);
    const auto one = runtime::Executable::make(part, kernels, pool, nullptr, &store);
    const auto both = runtime::Executable::make(whole, kernels, pool, nullptr, &store);
    ASSERT_TRUE(one && both);
    ASSERT_EQ(places(*one).size(), 1u);
    ASSERT_EQ(places(*both).size(), 2u);
    EXPECT_TRUE(places(*both).contains(*places(*one).begin()));
    const std::vector<TensorData> inputs = {random_tensor({200, 100}, 7)};
    const auto expected = runtime::Session(compiled(whole), std::make_shared<ThreadPool>(1)).run(inputs);
    const auto found = runtime::Session(*both, std::make_shared<ThreadPool>(1)).run(inputs);
    ASSERT_TRUE(expected && found);
    for (size_t i = 0; i < 2; i++) EXPECT_TRUE(same_bits((*found)[i], (*expected)[i])) << i;
}

}  // namespace
}  // namespace heddle
