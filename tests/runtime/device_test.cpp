// A backend with memory and launches of its own computes what this process does.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "helpers/codes.h"
#include "helpers/device_backend.h"
#include "helpers/programs.h"
#include "helpers/running.h"
#include "runtime/prepared.h"

namespace heddle::runtime {
namespace {

// x [rows, 96] times a constant of as many columns, with its bias, and the softmax of it.
Graph layer(int64_t rows) {
    heddle::Session session(library());
    const TensorId x = session.add_input("x", {DType::float32, {Size(rows), Size(96)}});
    const TensorId w = session.add_constant("w", random_tensor({96, 80}, 5));
    const TensorId b = session.add_constant("b", random_tensor({80}, 6));
    const TensorId y = call(session, "linear", {{x}, {w}, {b}});
    const TensorId p = call(session, "softmax", {{y}}, {{"axis", StaticValue::of(1)}});
    return session.finish({y, p});
}

using Feeds = std::vector<TensorData>;

void expect_same(const Feeds& found, const Feeds& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t o = 0; o < found.size(); o++) {
        ASSERT_EQ(found[o].byte_size(), expected[o].byte_size());
        EXPECT_EQ(std::memcmp(found[o].data(), expected[o].data(), static_cast<size_t>(found[o].byte_size())), 0) << o;
    }
}

// On the device and in this process, by the same code.
class OnDevice : public testing::Test {
protected:
    Result<std::shared_ptr<const Executable>> make(const Graph& graph, const plan::PlanOptions& options = {}) {
        return Executable::make(plan_of(graph, options), kernels_, *pool_, nullptr, &store_);
    }

    void expect_equal(const Graph& graph, const Feeds& feeds, const plan::PlanOptions& options = {}) {
        auto executable = make(graph, options);
        ASSERT_TRUE(executable) << render(executable.error());
        Session session(*executable, pool_);
        const auto here = Session(compiled(plan_of(graph, options)), pool_).run(feeds);
        ASSERT_TRUE(here) << render(here.error());
        for (int round = 0; round < 2; round++) {
            const auto found = session.run(feeds);
            ASSERT_TRUE(found) << render(found.error());
            expect_same(*found, *here);
        }
    }

    const std::shared_ptr<FarBackend> backend_ = std::make_shared<FarBackend>();
    FarDevice& device_ = *backend_->far;
    const std::shared_ptr<ThreadPool> pool_ = std::make_shared<ThreadPool>(2);
    KernelCache kernels_{backend_};
    PreparedStore store_;
};

TEST_F(OnDevice, ComputesTheSame) {
    expect_equal(layer(33), {random_tensor({33, 96}, 7)});
    expect_equal(layer(33), {random_tensor({33, 96}, 7)}, {.fuse = false});
    expect_equal(graph_of("y = cumsum(x, axis: 1)", {input("x", {3, 70})}), {random_tensor({3, 70}, 8)});
    expect_equal(graph_of("y = relu(x)", {input("x", {0, 4})}), {TensorData(DType::float32, {0, 4})});
    EXPECT_GT(device_.launches, 0);
}

TEST_F(OnDevice, FillsMargins) {
    const Graph graph = graph_of("a = relu(x); y = conv(a, w, pads: [1, 1, 1, 1])",
                                 {input("x", {1, 4, 9, 9}), input("w", {8, 4, 3, 3})});
    bool any = false;
    for (const plan::Buffer& buffer : plan_of(graph).buffers) any = any || buffer.is_filled();
    EXPECT_TRUE(any) << print(plan_of(graph));
    expect_equal(graph, {random_tensor({1, 4, 9, 9}, 9), random_tensor({8, 4, 3, 3}, 10)});
}

TEST_F(OnDevice, WeightsAreThereOnce) {
    auto first = make(layer(33));
    ASSERT_TRUE(first) << render(first.error());
    const int64_t copied = device_.copied_to;
    const size_t blocks = device_.blocks();
    EXPECT_GT(copied, 0);
    auto second = make(layer(33));
    ASSERT_TRUE(second) << render(second.error());
    EXPECT_EQ(device_.copied_to, copied);
    EXPECT_EQ(device_.blocks(), blocks);
    first = second = std::shared_ptr<const Executable>();
    EXPECT_EQ(device_.blocks(), 0u) << "all of it is given back";
}

TEST_F(OnDevice, AnArenaOfAnotherMemoryIsNotUsed) {
    const Graph graph = graph_of("a = exp(x); b = cumsum(a, axis: 0); y = cumsum(b, axis: 1)", {input("x", {40, 40})});
    auto executable = make(graph);
    ASSERT_TRUE(executable) << render(executable.error());
    const auto arena = std::make_shared<Arena>(2);
    const Feeds feeds = {random_tensor({40, 40}, 11)};
    const auto found = Session(*executable, pool_, arena).run(feeds);
    ASSERT_TRUE(found) << render(found.error());
    EXPECT_EQ(arena->bytes(), 0);
    expect_same(*found, *Session(compiled(plan_of(graph)), pool_).run(feeds));
}

TEST_F(OnDevice, SaysWhichIndexIsOutOfRange) {
    const Graph graph = graph_of("y = gather(x, i, axis: 0)", {input("x", {5, 3}), input("i", {4}, DType::int64)});
    TensorData i(DType::int64, {4});
    i.set_integer(1, 7);
    i.set_integer(3, 9);
    const Feeds feeds = {random_tensor({5, 3}, 12), i};
    auto executable = make(graph);
    ASSERT_TRUE(executable) << render(executable.error());
    const auto found = Session(*executable, pool_).run(feeds);
    ASSERT_EQ(code_of(found), "runtime.index_out_of_range");
    const auto here = Session(compiled(plan_of(graph)), pool_).run(feeds);
    ASSERT_FALSE(here);
    EXPECT_EQ(render(found.error()), render(here.error()));
}

TEST_F(OnDevice, ContentsComeBack) {
    const Graph graph = graph_of("a = exp(x); y = relu(a)", {input("x", {3, 70})});
    auto executable = make(graph, {.fuse = false, .keep_all = true, .passes = nullptr});
    ASSERT_TRUE(executable) << render(executable.error());
    Session session(*executable, pool_);
    const Feeds feeds = {random_tensor({3, 70}, 13)};
    ASSERT_TRUE(session.run(feeds));
    const auto& buffers = (*executable)->plan().buffers;
    bool any = false;
    for (size_t b = 0; b < buffers.size(); b++) {
        if (buffers[b].kind != plan::Buffer::Kind::workspace || !buffers[b].packed.empty()) continue;
        any = true;
        const auto found = session.contents(static_cast<int32_t>(b));
        ASSERT_TRUE(found) << render(found.error());
        ASSERT_EQ(found->size(), 210);
        for (int64_t i = 0; i < found->size(); i++) ASSERT_NEAR(found->real_at(i), std::exp(feeds[0].real_at(i)), 1e-4);
    }
    EXPECT_TRUE(any);
}

// As engines do that share kernels: each thread has its pool and its arena.
TEST_F(OnDevice, ThreadsShareIt) {
    const Graph graph = layer(33);
    const Feeds feeds = {random_tensor({33, 96}, 7)};
    const auto expected = Session(compiled(plan_of(graph)), pool_).run(feeds);
    ASSERT_TRUE(expected) << render(expected.error());
    std::vector<std::thread> threads;
    std::vector<Result<Feeds>> found(4);
    for (size_t t = 0; t < found.size(); t++) {
        threads.emplace_back([&, t] {
            const auto pool = std::make_shared<ThreadPool>(1);
            auto plan = plan::make_plan(graph, detect_host());
            auto executable = Executable::make(std::move(*plan), kernels_, *pool, nullptr, &store_);
            for (int round = 0; round < 20 && executable; round++) found[t] = Session(*executable, pool).run(feeds);
            if (!executable) found[t] = fail(executable.error());
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Result<Feeds>& result : found) {
        ASSERT_TRUE(result) << render(result.error());
        expect_same(*result, *expected);
    }
}

TEST_F(OnDevice, WhatItRefusesIsSaid) {
    auto executable = make(layer(33));
    ASSERT_TRUE(executable) << render(executable.error());
    Session session(*executable, pool_);
    device_.refuses_copies = true;
    EXPECT_EQ(code_of(session.run({random_tensor({33, 96}, 7)})), "test.copy");
    device_.refuses_copies = false;
    EXPECT_EQ(code_of(session.run({random_tensor({33, 96}, 7)})), "ok");
    device_.limit = 100;
    EXPECT_EQ(code_of(Session(*executable, pool_).run({random_tensor({33, 96}, 7)})), "runtime.out_of_memory");
    EXPECT_EQ(code_of(make(layer(34))), "ok") << "its weights are there";
    executable = std::shared_ptr<const Executable>();
    session = Session(compiled(plan_of(layer(33))), pool_);
    EXPECT_EQ(code_of(make(layer(33))), "runtime.out_of_memory");
}

}  // namespace
}  // namespace heddle::runtime
