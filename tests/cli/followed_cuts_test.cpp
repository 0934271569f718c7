// Cuts that go on from operation to operation: which axes they are, and that the whole comes out.
#include "explain/followed_cuts.h"

#include <fmt/format.h>

#include <random>

#include "../sharding/sharded.h"
#include "cli/support.h"
#include "explain/shards.h"
#include "helpers/source_folder.h"

namespace heddle {
namespace {

Graph called(const std::string& call, const std::vector<std::pair<const char*, std::vector<Size>>>& inputs) {
    static const Library library = open_library(in_source("operators")).value();
    std::vector<ProgramInput> typed;
    for (const auto& [name, shape] : inputs) typed.push_back({name, {DType::float32, shape}});
    auto source = cli::load_call(call, library, typed, {});
    EXPECT_TRUE(source) << (source ? "" : render(source.error()));
    return source ? std::move(source->graph) : Graph();
}

// "matmul m=2,k=3; add2 shape0=2", in the order of the graph.
std::string cuts(const Graph& graph, const explain::Cuts& parts) {
    std::string text;
    for (const auto& [id, own] : explain::followed_cuts(graph, parts)) {
        std::string axes;
        for (const auto& [name, count] : own) axes += fmt::format("{}{}={}", axes.empty() ? "" : ",", name, count);
        text += fmt::format("{}{} {}", text.empty() ? "" : "; ", graph.operation(id).operator_name, axes);
    }
    return text;
}

void expect_whole(const Graph& graph, const std::string& shards) {
    SCOPED_TRACE(shards);
    std::mt19937 random(1);
    const auto feeds = sharding::random_feeds(graph, random, 2, 3);
    auto made = explain::shard_operations(graph, {shards}, false);
    ASSERT_TRUE(made) << render(made.error());
    sharding::expect_same_values(graph, feeds, {{}, std::move(made->placed.graph)});
}

TEST(FollowedCuts, WhatReadsAndWhatMakesIsCutAlike) {
    const Graph graph = called("y = relu(linear(x, A, b))", {{"x", {4, 6}}, {"A", {6, 5}}, {"b", {5}}});
    EXPECT_EQ(cuts(graph, {{"row0", 2}}), "numpy_matmul row0=2; add2 shape0=2; relu shape0=2");
    EXPECT_EQ(cuts(graph, {{"col0", 5}, {"k", 2}}), "numpy_matmul col0=5,k=2; add2 shape1=5; relu shape1=5");
    EXPECT_EQ(cuts(graph, {{"k", 3}}), "numpy_matmul k=3");  // all of the sum is added to
    // Both have this axis by its name, and the product the same one by another.
    EXPECT_EQ(cuts(graph, {{"shape1", 2}}), "numpy_matmul col0=2; add2 shape1=2; relu shape1=2");
    EXPECT_EQ(cuts(graph, {{"none", 2}}), "");
    for (const char* shards : {"row0=2", "row0=3,col0=2", "col0=5,k=2", "shape0=4", "row0=7,k=6"})
        expect_whole(graph, shards);
}

TEST(FollowedCuts, DimensionsMayChangePlaces) {
    const Graph graph = called("y = neg(transpose(exp(x), perm: [1, 2, 0]))", {{"x", {3, 4, 5}}});
    EXPECT_EQ(cuts(graph, {{"out0", 2}, {"out2", 3}}),
              "exp shape1=2,shape0=3; transpose out0=2,out2=3; neg shape0=2,shape2=3");
    expect_whole(graph, "out0=2,out2=3");
}

TEST(FollowedCuts, NotThroughReductionsWindowsAndParts) {
    // Each step needs a neighbour; half of the elements; a mean of all.
    const Graph window = called("y = relu(max_pool(relu(x), kernel: [3, 3])[0])", {{"x", {1, 2, 9, 9}}});
    EXPECT_EQ(cuts(window, {{"out0", 2}}), "max_pool out0=2; relu shape2=2");
    EXPECT_EQ(cuts(window, {{"c", 2}}), "relu shape1=2; max_pool c=2; relu shape1=2");
    const Graph part = called("y = neg(slice(exp(x), starts: [1], ends: [4]))", {{"x", {6, 4}}});
    EXPECT_EQ(cuts(part, {{"out0", 3}}), "slice out0=3; neg shape0=3");
    EXPECT_EQ(cuts(part, {{"out1", 2}}), "exp shape1=2; slice out1=2; neg shape1=2");
    const Graph mean = called("y = sub(x, reduce_mean(exp(x), axes: [1]))", {{"x", {6, 4}}});
    EXPECT_EQ(cuts(mean, {{"kept0", 2}}), "exp shape0=2; reduce_mean kept0=2; sub shape0=2");
    EXPECT_EQ(cuts(mean, {{"r0", 2}}), "reduce_mean r0=2");
    for (const char* shards : {"kept0=2", "r0=2", "kept0=3,r0=4"}) expect_whole(mean, shards);
    for (const char* shards : {"out0=2", "c=2"}) expect_whole(window, shards);
    for (const char* shards : {"out0=3", "out1=2"}) expect_whole(part, shards);
}

TEST(FollowedCuts, OneAxisIsCutOnce) {
    // The rows of x are rows of one operand and columns of the other.
    const Graph graph = called("z = exp(x); y = add2(z, transpose(z))", {{"x", {4, 4}}});
    EXPECT_EQ(cuts(graph, {{"out0", 2}}), "exp shape1=2,shape0=2; transpose out0=2; add2 shape0=2,shape1=2");
    expect_whole(graph, "out0=2");
}

}  // namespace
}  // namespace heddle
