// Messages leave while their step computes on: partial gradients, beside the backward pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "evaluate/compare.h"
#include "evaluate/evaluate.h"
#include "gradient/gradient.h"
#include "helpers/programs.h"
#include "placing/parts.h"
#include "placing/sharded.h"
#include "running/messages.h"
#include "running/together.h"
#include "sharding/sharded.h"

namespace heddle::running {
namespace {

using placing::Step;
using sharding::PlaceId;

constexpr int layers = 6;

// The loss of an MLP, and its gradients by all weights; rows of a batch.
Graph training_step(int64_t batch, int64_t width) {
    const Size rows = named_size("batch", batch);
    std::vector<ProgramInput> inputs = {{"h0", {DType::float32, {rows, width}}}};
    std::string calls;
    for (int layer = 1; layer <= layers; layer++) {
        inputs.push_back(input(fmt::format("w{}", layer), {width, width}));
        calls += fmt::format("h{0} = relu(matmul(h{1}, w{0})); ", layer, layer - 1);
    }
    Graph graph = graph_of(calls + fmt::format("loss = reduce_mean(mul(h{0}, h{0}))", layers), inputs);
    graph.dimension_names = {{"batch", batch}};
    const std::vector<TensorId> weights(graph.inputs.begin() + 1, graph.inputs.end());
    auto made = gradient::value_and_gradient(graph, weights, graph.outputs);
    EXPECT_TRUE(made) << (made ? "" : render(made.error()));
    return made ? std::move(*made) : Graph{};
}

// The batch over all places, each of which gets all gradients.
placing::ShardedProgram over_places(const Graph& graph, int32_t places, double latency) {
    auto system = *placing::system_of_processes(Target{}, places);
    for (placing::Link& link : system.links) link.latency = latency;
    std::vector<PlaceId> readers;
    for (int32_t p = 0; p < places; p++) readers.emplace_back(p);
    auto program = placing::sharded(graph, *placing::parse_cuts({fmt::format("batch={}", places)}), system, readers);
    EXPECT_TRUE(program) << (program ? "" : render(program.error()));
    return std::move(*program);
}

// By message that leaves: the batch behind which all of it is there. By one that comes: the batch that waits for it.
struct Times {
    std::vector<size_t> leaves, comes, expected;
};
Times times_of(const Program& program) {
    const Step& step = program.entry().steps.front();
    const ExchangeTimes exchanges(*program.plan(placing::FunctionId(0), 0), step, {});
    const auto& batches = exchanges.batches();
    const auto first = [&](size_t exchange, size_t ExchangeTimes::OfBatch::* member) {
        const auto found = std::ranges::find_if(batches, [&](const auto& batch) { return batch.*member > exchange; });
        return static_cast<size_t>(found - batches.begin());
    };
    Times times;
    for (size_t e = 0; e < step.exchanges.size(); e++) {
        if (!step.exchanges[e].comes) times.leaves.push_back(first(e, &ExchangeTimes::OfBatch::complete));
        if (!step.exchanges[e].comes) continue;
        times.comes.push_back(first(e, &ExchangeTimes::OfBatch::over));
        times.expected.push_back(first(e, &ExchangeTimes::OfBatch::expected));
    }
    return times;
}

size_t distinct(const std::vector<size_t>& numbers) { return std::set<size_t>(numbers.begin(), numbers.end()).size(); }

TEST(Overlap, GradientsLeaveBesideTheBackwardPass) {
    const Graph graph = training_step(16, 32);
    for (int32_t places : {2, 4}) {
        const auto program = over_places(graph, places, 0);
        auto together = Together::load(program.processes, inventories_here(program.processes.size(), 1));
        ASSERT_TRUE(together) << render(together.error());
        for (size_t p = 0; p < (*together)->size(); p++) {
            const Program& own = (*together)->program(p);
            ASSERT_EQ(own.entry().steps.size(), 1U);
            const Times times = times_of(own);
            // To each place the loss, then layer after layer: each leaves before the next one's gradient is there.
            const auto partial = static_cast<ptrdiff_t>((1 + layers) * (places - 1));
            ASSERT_GE(times.leaves.size(), static_cast<size_t>(partial));
            const std::vector<size_t> first(times.leaves.begin(), times.leaves.begin() + partial);
            EXPECT_TRUE(std::ranges::is_sorted(first));
            EXPECT_EQ(distinct(first), static_cast<size_t>(1 + layers));
            // Nothing that comes is waited for before all of the backward pass is done, and then one after another.
            EXPECT_GT(times.comes.front(), first.back());
            EXPECT_GE(distinct(times.comes), static_cast<size_t>(1 + layers));
            // What is put together of both lies as others send it.
            for (const plan::Buffer& buffer : own.plan(placing::FunctionId(0), 0)->buffers) {
                if (buffer.kind != plan::Buffer::Kind::workspace || !buffer.name.ends_with(" sum")) continue;
                EXPECT_TRUE(buffer.storage.is_row_major()) << buffer.name;
            }
            // It has a place as soon as others may have sent it.
            for (size_t m = 1; m < std::min(times.comes.size(), times.leaves.size()); m++)
                EXPECT_LE(times.expected[m], times.leaves[m - 1] + 1);
        }
        std::mt19937 random(1);
        const std::vector<TensorData> feeds = sharding::random_feeds(graph, random, 1, 3);
        auto results = (*together)->run(feeds);
        ASSERT_TRUE(results) << render(results.error());
        auto whole = evaluate_graph_bounded(graph, feeds);
        ASSERT_TRUE(whole);
        for (const auto& own : *results)
            for (size_t i = 0; i < graph.outputs.size(); i++) {
                const auto comparison =
                    compare_bounded(own[i].reals(), (*whole)[static_cast<size_t>(graph.outputs[i])]);
                EXPECT_TRUE(comparison.equal) << comparison.text();
            }
    }
}

// What the link would need its latency for goes together.
TEST(Overlap, SmallGradientsAreOneMessage) {
    const Graph graph = training_step(16, 32);
    EXPECT_EQ(over_places(graph, 2, 1e-3).messages.size(), 2U);
    EXPECT_EQ(over_places(graph, 2, 0).messages.size(), 2U * (1 + layers));
}

}  // namespace
}  // namespace heddle::running
