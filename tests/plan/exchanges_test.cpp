// What comes and leaves while a plan runs: where its batches stand.
#include <gtest/gtest.h>

#include "helpers/programs.h"
#include "plan/plan.h"
#include "target/target.h"

namespace heddle::plan {
namespace {

// The first and the last batch that reads an input, or writes an output, of this name.
struct Span {
    size_t first = SIZE_MAX, last = 0;
};
Span touched(const Plan& plan, const std::string& name) {
    Span span;
    for (size_t b = 0; b < plan.run.size(); b++) {
        for (const Launch& launch : plan.run[b]) {
            const auto& memories = plan.trees[static_cast<size_t>(launch.tree)]->memories;
            for (size_t i = 0; i < launch.buffers.size(); i++) {
                const Buffer& buffer = plan.buffers[static_cast<size_t>(launch.buffers[i])];
                const bool written = memories[i].kind != schedules::Memory::Kind::input;
                if (buffer.kind != (written ? Buffer::Kind::output : Buffer::Kind::input)) continue;
                if (buffer.name != name && buffer.name != "program." + name) continue;
                span.first = std::min(span.first, b);
                span.last = b;
            }
        }
    }
    EXPECT_NE(span.first, SIZE_MAX) << name << "\n" << print(plan);
    return span;
}

// With all tensors of these names as outputs.
Graph program(const std::string& calls, const std::vector<ProgramInput>& inputs,
              const std::vector<std::string>& outputs, const Library& operators = library()) {
    auto made = build_program(std::make_shared<SourceText>("program", calls), operators, inputs);
    EXPECT_TRUE(made) << (made ? "" : render(made.error()));
    Graph graph = made ? std::move(*made) : Graph{};
    graph.outputs.clear();
    for (const std::string& name : outputs) {
        const auto found = std::ranges::find_if(graph.tensors, [&](const Tensor& tensor) {
            return tensor.name == name || tensor.name == "program." + name;
        });
        graph.outputs.push_back(TensorId(found - graph.tensors.begin()));
    }
    return graph;
}

Plan planned(const Graph& graph, const std::vector<Exchange>& exchanges, bool fuse = true) {
    auto plan = make_plan(graph, detect_host(), {.fuse = fuse, .exchanges = exchanges});
    EXPECT_TRUE(plan) << render(plan.error());
    return std::move(*plan);
}

TEST(Exchanges, WhatComesLaterIsReadBehindWhatLeaves) {
    const Graph graph = program("a = relu(x); y = add(a, r)", {input("x", {64}), input("r", {64})}, {"a", "y"});
    EXPECT_EQ(planned(graph, {}).run.size(), 1u);
    for (bool fuse : {true, false}) {
        const Plan plan = planned(graph, {{false, {0}}, {true, {1}}}, fuse);
        EXPECT_LT(touched(plan, "a").last, touched(plan, "y").first) << print(plan);
    }
}

// What comes need not be read here: the process hands it on.
TEST(Exchanges, BehindWhatIsNotRead) {
    const Graph graph = program("a = relu(x); y = add(a, r)", {input("x", {64}), input("r", {64})}, {"a", "y"});
    const Plan plan = planned(graph, {{false, {0}}, {true, {}}, {true, {1}}});
    EXPECT_LT(touched(plan, "a").last, touched(plan, "y").first) << print(plan);
}

TEST(Exchanges, ThroughSeveralOfThem) {
    const Graph graph = program("a = relu(x); b = exp(r); y = add(add(s, a), b)",
                                {input("x", {64}), input("r", {64}), input("s", {64})}, {"a", "b", "y"});
    const Plan plan = planned(graph, {{false, {0}}, {true, {1}}, {false, {1}}, {true, {2}}});
    EXPECT_LT(touched(plan, "a").last, touched(plan, "r").first) << print(plan);
    EXPECT_LT(touched(plan, "b").last, touched(plan, "s").first) << print(plan);
}

// A place that would wait before it computes what needs nothing of others would make them wait in turn.
TEST(Exchanges, WhatNeedsNothingThatComesIsFirst) {
    const Graph graph = program("z = matmul(x, w); y = add(z, r)",
                                {input("r", {256, 256}), input("x", {256, 256}), input("w", {256, 256})}, {"y", "z"});
    const Plan plan = planned(graph, {{true, {0}}});
    EXPECT_LT(touched(plan, "z").last, touched(plan, "r").first) << print(plan);
}

// Turns of a pipeline: equal work, of which one part is sent before the next is begun.
TEST(Exchanges, WhatLeavesFirstIsMadeFirst) {
    const Graph graph = program("a = matmul(x, w); b = matmul(z, w); y = add(a, b)",
                                {input("x", {64, 64}), input("z", {64, 64}), input("w", {64, 64})}, {"a", "b"});
    EXPECT_EQ(touched(planned(graph, {}), "a").first, touched(planned(graph, {}), "b").first);
    const Plan plan = planned(graph, {{false, {0}}, {false, {1}}});
    EXPECT_LT(touched(plan, "a").last, touched(plan, "b").first) << print(plan);
    const Plan other = planned(graph, {{false, {1}}, {false, {0}}});
    EXPECT_LT(touched(other, "b").last, touched(other, "a").first) << print(other);
}

// It is read here by columns, too, and lies so; it is copied where it is asked for as soon as it is there.
TEST(Exchanges, WhatLeavesInAnotherLayoutIsCopiedAtOnce) {
    const Graph graph =
        program("a = conv(x, k, pads: 1); b = conv(a, k, pads: 1); y = add(b, r)",
                {input("x", {1, 16, 24, 24}), input("k", {16, 16, 3, 3}), input("r", {1, 16, 24, 24})}, {"a", "y"});
    const Plan plan = planned(graph, {{false, {0}}, {true, {2}}});
    EXPECT_LT(touched(plan, "a").last, touched(plan, "r").first) << print(plan);
}

// Only a later one of its equations reads it.
TEST(Exchanges, AScanReadsWhatComes) {
    const Graph graph = graph_of("y, h = linear_attention(q, k, v)",
                                 {input("q", {1, 2, 4, 6}), input("k", {1, 2, 4, 6}), input("v", {1, 2, 4, 3})});
    for (int32_t number = 0; number < 3; number++) {
        for (bool fuse : {true, false}) {
            const Plan plan = planned(graph, {{true, {number}}}, fuse);
            EXPECT_TRUE(plan.notes.empty()) << render(plan.notes);
        }
    }
}

// A row of what a convolution makes is sent, all of it lies by channels for the next one. So the vectors run along channels,
// and what it reads, which lies so, need not be packed along the row.
TEST(Exchanges, ARowThatLeavesDoesNotTurnTheVectors) {
    const Graph graph = program(
        "r = relu(conv(x, k, pads: 1)); a = relu(conv(r, m, b)); s = slice(a, starts: [27], ends: [28], axes: [2]); "
        "t = conv(concat([a, h], axis: 2), n, pads: [1, 1, 0, 1]); y = add(t, s)",
        {input("x", {1, 256, 28, 56}), input("k", {256, 256, 3, 3}), input("m", {64, 256, 1, 1}), input("b", {64}),
         input("h", {1, 64, 1, 56}), input("n", {64, 64, 3, 3})},
        {"s", "t"});
    const Plan plan = planned(graph, {});
    for (const Buffer& buffer : plan.buffers) EXPECT_NE(buffer.name, "program.r packed") << summary(plan);
}

// What leaves reads a state's initial value alone, but that is computed with the steps, which read more.
TEST(Exchanges, AScanIsComputedBehindAllThatItsStepsRead) {
    const Library operators = library_with(R"(
states_before:
  inputs: {a: "float32[$steps, $n]", x: "float32[$n]"}
  index: "[$n]"
  outputs: {y: "float32[$steps, $n]", begin: "float32[$n]"}
  body: |
    scan t < $steps:
      h[t] = a[t, @n] * h[t - 1] + 1 from x[@n]
      y[t, @n] = h[t]
    begin[@n] = h[-1]
)");
    const Graph graph = program(
        "a = matmul(q, w); s, b = states_before(a, x); first = relu(b); y = add(add(s, r), first)",
        {input("q", {16, 8}), input("w", {8, 24}), input("x", {24}), input("r", {16, 24})}, {"first", "y"}, operators);
    const Plan plan = planned(graph, {{false, {0}}, {true, {3}}});
    EXPECT_LT(touched(plan, "first").last, touched(plan, "r").first) << print(plan);
}

}  // namespace
}  // namespace heddle::plan
