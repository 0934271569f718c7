// Seconds of operations in their program: beside the costs of the kernels that fusion makes of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "alike_processes.h"
#include "equations/cost.h"
#include "equations/passes.h"
#include "helpers/programs.h"
#include "placing/choose_cuts.h"
#include "placing/fused_costs.h"
#include "placing/cut_table.h"
#include "target/choice_numbers.h"

namespace heddle::placing {
namespace {

// All of a program by its kernels, without a word on operations.
double seconds_of_kernels(const Graph& graph, const Target& target) {
    auto system = equations::lower(graph).value();
    equations::estimate_by(system, graph.dimension_names);
    equations::optimise(system);
    const auto partition = equations::fuse(system, target, {});
    double sum = 0;
    for (const auto& [rest, streamed] : equations::streaming_costs_of(system, partition, target)) {
        sum += rest.seconds;
        for (const equations::Streamed& each : streamed) sum += (each.copied ? 3 : 1) * each.bytes / target.bandwidth;
    }
    return sum;
}

double seconds_of_operations(const Graph& graph, const std::vector<std::string>& cuts, int32_t places) {
    const auto said = parse_cuts(cuts).value();
    const auto cutting = choose_cuts(graph, said, alike_processes(Target{}, places, 1e12, 0), {});
    EXPECT_TRUE(cutting) << render(cutting.error());
    return cutting->compute_seconds;
}

Graph two_products(int64_t rows) {
    return graph_of("h = relu(matmul(x, w)); y = softmax(matmul(h, v), axis: 1)",
                    {input("x", {rows, 256}), input("w", {256, 512}), input("v", {512, 256})});
}

TEST(FusedCosts, OperationsTakeWhatTheirKernelsTake) {
    const std::vector<Graph> graphs = {
        two_products(512), two_products(16),
        graph_of("h = conv(x, k, pads: [1, 1, 1, 1]); y = relu(add2(conv(h, l), x))",
                 {input("x", {1, 64, 28, 28}), input("k", {32, 64, 3, 3}), input("l", {64, 32, 1, 1})}),
        graph_of("h = transpose(x, perm: [1, 0]); y = softmax(add2(h, x), axis: 0)", {input("x", {512, 512})})};
    for (const Graph& graph : graphs) {
        const double kernels = seconds_of_kernels(graph, Target{});
        EXPECT_NEAR(seconds_of_operations(graph, {"1"}, 1), kernels, 0.05 * kernels) << graph.operations.back().name;
    }
}

TEST(FusedCosts, WhatFusionKeepsInsideIsNotInMemory) {
    const Graph graph = two_products(512);
    const auto in = in_program(graph, Target{});
    const auto lies = [&](size_t operation, const std::string& name) {
        const auto tensors = tensors_of(graph.operations[operation]);
        const auto found = std::ranges::find_if(tensors, [&](TensorId t) { return graph.tensor(t).name == name; });
        return in[operation].lies(TensorId(found - tensors.begin()));
    };
    const std::string product = graph.tensor(graph.operations[0].outputs[0]).name;
    EXPECT_EQ(lies(0, product), Lies::in_kernels);
    EXPECT_EQ(lies(1, product), Lies::in_kernels);
    EXPECT_EQ(lies(0, "x"), Lies::in_memory);
    // An input that vectors move along is copied in each run.
    EXPECT_EQ(lies(0, "w"), Lies::copied);
    // A tensor that is new for a cut is in memory.
    EXPECT_EQ(in[0].lies(TensorId(9)), Lies::in_memory);
    // The product and its relu are one kernel.
    EXPECT_DOUBLE_EQ(in[0].launches + in[1].launches, 1);
}

// All rows share the weights: a place that has half of the rows reads them all, one that has half of the columns half.
TEST(FusedCosts, WeightsThatAllRowsShareAreReadByEachPlace) {
    const Graph few = two_products(16), many = two_products(4096);
    const auto by = [](const Graph& graph, const std::string& cut) {
        return seconds_of_operations(graph, {cut}, 2) / seconds_of_operations(graph, {"1"}, 1);
    };
    EXPECT_GT(by(few, "in_row=2"), 0.75);
    EXPECT_LT(by(many, "in_row=2"), 0.55);
    EXPECT_LT(by(few, "out_col=2"), by(few, "in_row=2"));
}

// The same whenever and wherever it is reckoned: processes must agree.
TEST(FusedCosts, AreTheSameAgain) {
    const Graph graph = two_products(64);
    const auto first = in_program(graph, Target{}), second = in_program(graph, Target{});
    for (size_t o = 0; o < first.size(); o++) {
        EXPECT_EQ(first[o].launches, second[o].launches);
        EXPECT_EQ(first[o].operations, second[o].operations);
        EXPECT_EQ(first[o].times, second[o].times);
        EXPECT_EQ(first[o].tensors, second[o].tensors);
    }
}

TEST(FusedCosts, PiecesAreKernelsAndBytes) {
    const Target target;
    const double launch = choice_numbers::seconds_of_a_kernel(target);
    EXPECT_DOUBLE_EQ(assembling_seconds(0, 3, target), 3 * launch);
    EXPECT_GT(assembling_seconds(1e6, 2, target), 2 * launch);
}

}  // namespace
}  // namespace heddle::placing
