// Which processes read which elements of constants, beside what cuts say of it.
#include <gtest/gtest.h>

#include <set>

#include "helpers/programs.h"
#include "placing/constant_reads.h"
#include "placing/parts.h"
#include "placing/sharded.h"

namespace heddle::placing {
namespace {

std::vector<ConstantRead> reads_of(const Graph& graph, const std::vector<std::string>& cuts, int32_t places) {
    const auto program =
        sharded(graph, *parse_cuts(cuts), *system_of_processes(Target{}, places), {sharding::PlaceId(0)});
    EXPECT_TRUE(program) << render(program.error());
    return program ? constant_reads(program->processes) : std::vector<ConstantRead>();
}

Graph with_constant(Graph graph, size_t number) {
    const TensorId t = graph.inputs[number];
    graph.tensors[t].constant = TensorData(DType::float32, graph.tensor(t).type.extents());
    graph.inputs.erase(graph.inputs.begin() + static_cast<ptrdiff_t>(number));
    return graph;
}

// By row of an image of 9 x 9: who reads it. Each element stands in one box.
std::vector<std::set<int32_t>> readers_of_rows(const std::vector<ConstantRead>& reads) {
    std::vector<std::set<int32_t>> rows(9);
    std::set<std::pair<int64_t, int64_t>> seen;
    for (const ConstantRead& read : reads) {
        for (int64_t row = read.box.start[2]; row < read.box.end[2]; row++) {
            for (int64_t column = read.box.start[3]; column < read.box.end[3]; column++)
                EXPECT_TRUE(seen.emplace(row, column).second);
            rows[static_cast<size_t>(row)] = read.readers;
        }
    }
    EXPECT_EQ(seen.size(), 81);
    return rows;
}

// Windows of three rows, two of them a place: where they overlap, both places read.
TEST(ConstantReads, WindowsOverlap) {
    const Graph graph =
        with_constant(graph_of("y = conv(X, W)", {input("X", {1, 1, 9, 9}), input("W", {1, 1, 3, 3})}), 0);
    const auto rows = readers_of_rows(reads_of(graph, {"out0=4"}, 4));
    for (int32_t row = 0; row < 9; row++) {
        std::set<int32_t> expected;
        for (int32_t window = std::max(0, row - 2); window <= std::min(6, row); window++) expected.insert(window / 2);
        EXPECT_EQ(rows[static_cast<size_t>(row)], expected) << row;
    }
}

TEST(ConstantReads, WhatNobodyCutsIsReadByAllThatCompute) {
    const Graph graph =
        with_constant(graph_of("y = conv(X, W)", {input("X", {4, 1, 9, 9}), input("W", {1, 1, 3, 3})}), 1);
    for (const int32_t places : {2, 4}) {
        const auto reads = reads_of(graph, {"n=" + std::to_string(places)}, places);
        ASSERT_EQ(reads.size(), 1);
        EXPECT_EQ(reads[0].readers.size(), static_cast<size_t>(places));
        EXPECT_EQ(reads[0].box, Box::whole({1, 1, 3, 3}));
    }
}

TEST(ConstantReads, AConstantThatIsAResultIsReadByWhoGetsIt) {
    Graph graph = with_constant(graph_of("y = relu(x); z = add2(y, w)", {input("x", {8}), input("w", {8})}), 1);
    graph.outputs.push_back(TensorId(1));
    std::vector<std::set<int32_t>> readers;
    for (const ConstantRead& read : reads_of(graph, {"@1=2"}, 2)) readers.push_back(read.readers);
    EXPECT_EQ(readers, (std::vector<std::set<int32_t>>{{0, 1}}));  // 0 gets it, 1 adds it
}

}  // namespace
}  // namespace heddle::placing
