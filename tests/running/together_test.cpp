// Operators and programs cut over several processes, run as threads: the values of the whole.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <thread>

#include "running/places.h"
#include "running/same_constants.h"
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

// Each process's steps one after another, or as one.
void expect_whole(const Graph& graph, const std::vector<sharding::Cut>& cuts, int32_t places, bool joins,
                  int64_t bytes) {
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
        if (!joins) continue;
        for (placing::Function& function : split.back().functions) function = placing::joined(function);
        sound = placing::verify(split.back());
        ASSERT_TRUE(sound) << render(sound.error());
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
    for (const RunReport& report : reports)
        for (const transport::Sent& each : report.sent) sent += each.bytes;
    if (bytes >= 0) {
        EXPECT_EQ(sent, bytes);
    }
}

void expect_whole(const Graph& graph, const std::vector<sharding::Cut>& cuts, int32_t places, int64_t bytes = -1) {
    for (bool joins : {false, true}) expect_whole(graph, cuts, places, joins, bytes);
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

template <typename Outcome>
std::string text_of(const Outcome& outcome) {
    if (outcome) return "ok";
    std::string text = outcome.error()[0].code;
    for (const auto& [name, value] : outcome.error()[0].params) text += " " + value;
    return text;
}

// Codes of processes that start a graph each, and whom they name; "ok" of those that did.
std::vector<std::string> started(const std::vector<Graph>& graphs, const placing::SaidCuts& said,
                                 const std::vector<Target>& targets) {
    std::vector<std::shared_ptr<transport::Transport>> ends;
    for (auto& end : transport::make_in_process(static_cast<int>(graphs.size()), std::chrono::seconds(20)))
        ends.push_back(std::move(end));
    std::vector<std::string> codes(graphs.size());
    std::vector<std::jthread> threads;
    for (size_t p = 0; p < graphs.size(); p++) {
        threads.emplace_back([&, p] {
            const auto made = start(graphs[p], {said, ends[p], 1, nullptr, targets[p]}, {PlaceId(0)});
            codes[p] = text_of(made);
        });
    }
    threads.clear();
    return codes;
}

TEST(Together, AProgramIsForItsNumberOfProcesses) {
    const Graph graph = graph_of("y = relu(x)", {input("x", {8, 6})});
    EXPECT_EQ(started({graph, graph}, {{3}, {}}, {Target{}, Target{}}), std::vector<std::string>(2, "transport.size"));
    EXPECT_EQ(started({graph, graph}, {}, {Target{}, Target{}}), std::vector<std::string>(2, "ok"));
}

// By its own figures one machine would cut, and the other would not.
TEST(Together, MachinesThatHaveMeasuredOtherFiguresCutAlike) {
    const Graph graph = graph_of("h = matmul(x, w); y = softmax(matmul(h, v), axis: 1)",
                                 {input("x", {64, 256}), input("w", {256, 256}), input("v", {256, 256})});
    Target slow, fast;
    slow.operations = 1e8;
    fast.bandwidth_one_core = 1e6;  // of its links, too
    const auto cuts = [&](const Target& target) {
        return placing::choose_cuts(graph, {{2}, {}}, *placing::system_of_processes(target, 2), {PlaceId(0)})->axes;
    };
    ASSERT_NE(cuts(slow), cuts(fast));
    EXPECT_EQ(started({graph, graph}, {}, {slow, fast}), std::vector<std::string>(2, "ok"));
    EXPECT_EQ(started({graph, graph}, {}, {fast, slow}), std::vector<std::string>(2, "ok"));
}

// `y = x w + b` with random constants, in memory of its own.
Graph with_weights(const std::string& calls, std::vector<int64_t> weight, int64_t bias) {
    Graph graph = graph_of(calls, {input("x", {8, 6}), input("w", std::move(weight)), input("b", {bias})});
    std::mt19937 random(1);
    const auto data = sharding::random_feeds(graph, random, 1, 3);
    for (size_t i = 2; i > 0; i--) {
        graph.tensors[graph.inputs[i]].constant = data[i].clone();
        graph.inputs.pop_back();
    }
    return graph;
}

void flip(Graph& graph, const std::string& constant, int64_t byte) {
    const auto tensor = std::ranges::find(graph.tensors, constant, &Tensor::name);
    ASSERT_NE(tensor, graph.tensors.end());
    tensor->constant = tensor->constant->clone();
    tensor->constant->mutable_data()[byte] ^= std::byte{1};
}

// What processes find that have a graph each: codes, and whom they name.
std::vector<std::string> compared(const std::vector<Graph>& graphs, const placing::SaidCuts& said) {
    const auto size = static_cast<int32_t>(graphs.size());
    const auto ends = transport::make_in_process(size, std::chrono::seconds(20));
    std::vector<std::string> found(graphs.size());
    std::vector<std::jthread> threads;
    for (size_t p = 0; p < graphs.size(); p++) {
        threads.emplace_back([&, p] {
            auto program =
                placing::sharded(graphs[p], said, *placing::system_of_processes(Target{}, size), {PlaceId(0)});
            found[p] = program ? text_of(agree_on_constants(*ends[p], program->processes)) : render(program.error());
        });
    }
    threads.clear();
    return found;
}

// Bytes are flipped at each process in turn: it is named, if it or the one before it uses the byte alone, or if it uses it with
// others. `users` of a column of the weight.
void expect_found(const placing::SaidCuts& said, const std::function<std::set<int>(int64_t)>& users) {
    const Graph graph = with_weights("y = add2(matmul(x, w), b)", {6, 8}, 8);
    EXPECT_EQ(compared(std::vector(4, graph), said), std::vector<std::string>(4, "ok"));
    std::mt19937 random(7);
    for (int trial = 0; trial < 200; trial++) {
        const int wrong = trial % 4;
        const std::string name = trial % 3 == 0 ? "b" : "w";
        const int64_t byte = std::uniform_int_distribution<int64_t>(0, (name == "b" ? 8 : 48) * 4 - 1)(random);
        std::vector<Graph> graphs(4, graph);
        flip(graphs[static_cast<size_t>(wrong)], name, byte);
        std::set<int> holders = users(byte / 4 % 8);
        if (holders.size() == 1) holders.insert((*holders.begin() + 1) % 4);
        const std::string expected =
            holders.contains(wrong) ? "transport.other_program " + std::to_string(wrong) : std::string("ok");
        EXPECT_EQ(compared(graphs, said), std::vector<std::string>(4, expected)) << name << " byte " << byte;
    }
}

TEST(Together, AnotherByteOfACutWeightIsFound) {
    expect_found(*placing::parse_cuts({"out_col=4"}),
                 [](int64_t column) { return std::set{static_cast<int>(column / 2)}; });
}

TEST(Together, AnotherByteOfAWeightOfAllIsFound) {
    expect_found(*placing::parse_cuts({"in_row=4"}), [](int64_t) { return std::set{0, 1, 2, 3}; });
}

TEST(Together, AnotherByteOfAWeightOfSomeIsFound) {
    expect_found(*placing::parse_cuts({"in_row=2,out_col=2"}), [](int64_t column) {
        const int part = static_cast<int>(column / 4);
        return std::set{part, part + 2};
    });
}

TEST(Together, OfTwoProcessesWithOtherWeightsBothAreNamed) {
    std::vector<Graph> graphs(2, with_weights("y = add2(matmul(x, w), b)", {6, 8}, 8));
    flip(graphs[1], "w", 3);
    EXPECT_EQ(started(graphs, {}, {Target{}, Target{}}), std::vector<std::string>(2, "transport.other_program 0 1"));
}

TEST(Together, Softmax) {
    const Graph graph = graph_of("y = softmax(x, axis: 1); z = matmul(y, w)", {input("x", {8, 6}), input("w", {6, 5})});
    expect_whole(graph, cuts_by(graph, "j", 2), 2);
}

}  // namespace
}  // namespace heddle::running
