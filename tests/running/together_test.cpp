// Operators and programs cut over several processes, run as threads: the values of the whole.
#include <gtest/gtest.h>

#include <cstring>

#include "running/together.h"
#include "evaluate/compare.h"
#include "helpers/programs.h"
#include "sharding/sharded.h"
#include "placing/processes.h"
#include "placing/parts.h"
#include "sharding/shard.h"
#include "transport/in_process.h"

namespace heddle::running {
namespace {

using sharding::PlaceId;

// Axis `name` of all operations that have it in `places` parts; others on place 0.
std::vector<sharding::Cut> cuts_by(const Graph& graph, const std::string& name, int64_t places) {
    std::vector<sharding::Cut> cuts;
    for (const Operation& operation : graph.operations) {
        const auto axes = sharding::axes_of(graph, operation);
        auto boxes = sharding::boxes_by(operation, axes, {{name, places}});
        sharding::Cut& cut = cuts.emplace_back();
        if (!boxes) boxes = sharding::boxes_by(operation, axes, {});
        cut.boxes = *boxes;
        for (size_t box = 0; box < cut.boxes.size(); box++) cut.places.push_back({PlaceId(box)});
    }
    return cuts;
}

void expect_whole(const Graph& graph, const std::vector<sharding::Cut>& cuts, int32_t places, int64_t bytes = -1) {
    std::vector<PlaceId> readers = {PlaceId(0)};
    auto placed = sharding::place(graph, cuts, readers);
    ASSERT_TRUE(placed) << render(placed.error());
    const auto system = *placing::system_of_processes(detect_host(), places);
    const auto placement = placing::placement_of(*placed, system, readers);
    const auto mixed = placing::mixed_function("main", placed->graph, system, placement);
    auto processes = placing::by_process(mixed, system, std::make_shared<Target>(detect_host()));
    std::vector<placing::Module> split;
    for (placing::Module& module : processes.modules) {
        auto sound = placing::verify(module);
        ASSERT_TRUE(sound) << render(sound.error());
        split.push_back(*placing::split(module));
    }
    auto sound = placing::verify_messages(split);
    ASSERT_TRUE(sound) << render(sound.error());
    auto together = Together::load(std::move(split), 2, nullptr);
    ASSERT_TRUE(together) << render(together.error());
    std::mt19937 random(1);
    const std::vector<TensorData> feeds = sharding::random_feeds(graph, random, 1, 3);
    std::vector<RunReport> reports;
    auto results = (*together)->run(feeds, &reports);
    ASSERT_TRUE(results) << render(results.error());
    auto whole = evaluate_graph_bounded(graph, feeds);
    ASSERT_TRUE(whole);
    for (size_t i = 0; i < graph.outputs.size(); i++) {
        auto comparison = compare_bounded((*results)[0][i].reals(), (*whole)[static_cast<size_t>(graph.outputs[i])]);
        EXPECT_TRUE(comparison.equal) << comparison.text();
    }
    int64_t sent = 0;
    for (const RunReport& report : reports) sent += report.sent_bytes;
    if (bytes >= 0) {
        EXPECT_EQ(sent, bytes);
    }
}

TEST(Together, AProductByRows) {
    const Graph graph = graph_of("y = matmul(x, w)", {input("x", {8, 6}), input("w", {6, 5})});
    expect_whole(graph, cuts_by(graph, "in_row", 2), 2, 4 * 5 * 4);
}

TEST(Together, AProductByItsSum) {
    const Graph graph = graph_of("y = matmul(x, w)", {input("x", {8, 6}), input("w", {6, 5})});
    expect_whole(graph, cuts_by(graph, "k", 4), 4);
}

// Two layers on two places, a batch of 8 in four turns: while one place has a part of it, the other has the part before.
TEST(Together, APipeline) {
    const Graph graph = graph_of("h = relu(matmul(x, w)); y = softmax(matmul(h, v), axis: 1)",
                                 {input("x", {8, 6}), input("w", {6, 5}), input("v", {5, 7})});
    std::vector<sharding::Cut> cuts;
    for (const Operation& operation : graph.operations) {
        const auto axes = sharding::axes_of(graph, operation);
        sharding::Cut& cut = cuts.emplace_back();
        cut.boxes = *sharding::boxes_by(operation, axes, {{axes[0].name, 4}});
        for (int32_t box = 0; box < 4; box++) {
            cut.places.push_back({PlaceId(cuts.size() <= 2 ? 0 : 1)});
            cut.turns.push_back(box);
        }
    }
    expect_whole(graph, cuts, 2, 8 * 5 * 4 + 8 * 7 * 4);
}

TEST(Together, AProgramIsForItsNumberOfProcesses) {
    auto ends = transport::make_in_process(1, std::chrono::seconds(1));
    auto joined = Together::join(std::vector<placing::Module>(2), std::move(ends[0]), "", 1, nullptr);
    ASSERT_FALSE(joined);
    EXPECT_EQ(joined.error()[0].code, "transport.size");
}

TEST(Together, Softmax) {
    const Graph graph = graph_of("y = softmax(x, axis: 1); z = matmul(y, w)", {input("x", {8, 6}), input("w", {6, 5})});
    expect_whole(graph, cuts_by(graph, "j", 2), 2);
}

}  // namespace
}  // namespace heddle::running
