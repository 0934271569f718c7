// Operators and programs cut over several processes, run as threads: the values of the whole.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <thread>

#include "running/places.h"
#include "running/same_constants.h"
#include "running/spread.h"
#include "evaluate/compare.h"
#include "evaluate/evaluate.h"
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

int64_t sent_bytes(const std::vector<RunReport>& reports) {
    int64_t bytes = 0;
    for (const RunReport& report : reports)
        for (const transport::Sent& each : report.sent) bytes += each.bytes;
    return bytes;
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
    auto together = Together::load(std::move(split), inventories_here(static_cast<size_t>(places), 2));
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
    const int64_t sent = sent_bytes(reports);
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

using inference::Value;

TensorData filled(std::vector<int64_t> shape, double first) {
    TensorData data(DType::float32, std::move(shape));
    for (int64_t i = 0; i < data.size(); i++) data.set_real(i, first + static_cast<double>(i) / 8);
    return data;
}

// A layer, and its weights as they are the next time.
Graph layer_with_state() {
    Graph graph = graph_of("h = matmul(x, w); n = add2(w, g); y = matmul(h, transpose(n))",
                           {input("x", {8, 6}), input("w", {6, 4}), input("g", {6, 4})});
    graph.outputs.clear();
    for (const char* name : {"program.h", "program.n"})
        for (size_t t = 0; t < graph.tensors.size(); t++)
            if (graph.tensors[t].name == name) graph.outputs.emplace_back(t);
    return prune(graph);
}

const std::vector<plan::Donation> weights_stay = {{.output = 1, .input = 1}};
const placing::SaidCuts by_columns = {{2}, {{"program.h", "out_col", 0}, {"program.n", "shape1", 0}}};

PlacesOptions two_places(std::shared_ptr<transport::Transport> transport = nullptr) {
    return {.said = by_columns,
            .transport = std::move(transport),
            .threads = 1,
            .kernels = nullptr,
            .target = detect_host()};
}

TEST(Spread, AStateStaysAndNothingIsSentForIt) {
    const Graph graph = layer_with_state();
    auto made = start(graph, two_places(), {PlaceId(0)}, {.states = {{1, 1}}});
    ASSERT_TRUE(made) << render(made.error());
    const sharding::Spreads& spreads = made->program.cutting.spreads;
    ASSERT_EQ(spreads.outputs.at(1), spreads.inputs.at(graph.inputs[1]));
    const sharding::Spread halves = {{PlaceId(0), {{0, 0}, {6, 2}}}, {PlaceId(1), {{0, 2}, {6, 4}}}};
    EXPECT_EQ(spreads.outputs.at(1), halves);
    EXPECT_EQ(made->program.cutting.bytes, 8 * 2 * 4);  // of h, for the first place
    const TensorData x = filled({8, 6}, 1), w = filled({6, 4}, 2), g = filled({6, 4}, 3);
    std::vector<std::vector<TensorData>> arguments;
    for (const auto& [place, box] : halves) arguments.push_back({x, g, box_of(w, box)});
    std::vector<RunReport> reports;
    for (int step = 0; step < 3; step++) {
        auto results = made->together->run(arguments, &reports);
        ASSERT_TRUE(results) << render(results.error());
        EXPECT_EQ(sent_bytes(reports), made->program.cutting.bytes);
        for (size_t p = 0; p < 2; p++) arguments[p][2] = (*results)[p].back();
    }
    for (size_t p = 0; p < 2; p++) {
        const Box& box = halves[p].second;
        const TensorData before = box_of(w, box), added = box_of(g, box);
        for (int64_t i = 0; i < before.size(); i++)
            EXPECT_EQ(arguments[p][2].real_at(i), before.real_at(i) + 3 * added.real_at(i));
    }
}

// No operation makes it: each place has its part of what all have.
TEST(Spread, AConstantStaysToo) {
    Graph graph = layer_with_state();
    const TensorData start_again = filled({6, 4}, 5);
    graph.outputs[1] = graph.add_constant("start", start_again.clone());
    auto made = start(graph, two_places(), {PlaceId(0)}, {.states = {{1, 1}}});
    ASSERT_TRUE(made) << render(made.error());
    const TensorData x = filled({8, 6}, 1), w = filled({6, 4}, 2), g = filled({6, 4}, 3);
    const sharding::Spread& spread = made->program.cutting.spreads.outputs.at(1);
    std::vector<std::vector<TensorData>> arguments(2, {x, g});
    for (const auto& [place, box] : spread) arguments[static_cast<size_t>(place.number())].push_back(box_of(w, box));
    auto results = made->together->run(arguments);
    ASSERT_TRUE(results) << render(results.error());
    for (const auto& [place, box] : spread) {
        const TensorData &found = (*results)[static_cast<size_t>(place.number())].back(), expected = box_of(start_again, box);
        ASSERT_EQ(found.shape(), expected.shape());
        for (int64_t i = 0; i < expected.size(); i++) EXPECT_EQ(found.real_at(i), expected.real_at(i));
    }
}

TEST(Spread, WhatLiesOtherwiseIsBrought) {
    const Graph graph = layer_with_state();
    const auto places = make_places(two_places());
    const TensorData x = filled({8, 6}, 1), w = filled({6, 4}, 2), g = filled({6, 4}, 3);
    auto rows = std::make_shared<inference::SpreadTensor>(
        inference::SpreadTensor{.name = "w", .dtype = DType::float32, .shape = {6, 4}, .parts = {}, .places = places});
    for (int32_t place = 0; place < 2; place++) {
        const Box box{{3 * place, 0}, {3 * place + 3, 4}};
        rows->parts.push_back({place, box, box_of(w, box)});
    }
    const std::vector<Value> inputs = {Value::of(x), Value::of_spread(rows), Value::of(g)};
    auto program = places->compile(graph, weights_stay, inputs);
    ASSERT_TRUE(program) << render(program.error());
    EXPECT_TRUE((*program)->takes(inputs));
    auto results = (*program)->run(inputs);
    ASSERT_TRUE(results) << render(results.error());
    ASSERT_TRUE((*results)[1].spread);
    EXPECT_TRUE((*results)[1].spread->is_here());
    const auto whole = places->gather(*(*results)[1].spread);
    ASSERT_TRUE(whole) << render(whole.error());
    const auto expected = evaluate_graph(graph, {x, w, g}, Precision::body);
    ASSERT_TRUE(expected);
    for (const auto& [found, output] : {std::pair(*(*results)[0].tensor, 0), std::pair(*whole, 1)}) {
        const TensorData& of = (*expected)[static_cast<size_t>(graph.outputs[static_cast<size_t>(output)])];
        for (int64_t i = 0; i < of.size(); i++) EXPECT_NEAR(found.real_at(i), of.real_at(i), 1e-3);
    }
    const auto others = make_places(
        {.said = {{3}, {}}, .transport = nullptr, .threads = 1, .kernels = nullptr, .target = detect_host()});
    auto refused = others->compile(graph, weights_stay, inputs);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error()[0].code, "running.spread");
}

// Runs it in two processes, as threads, each with what it gets; `gathers`: which of them gather in the end.
std::vector<Diagnostics> gathered_by(std::vector<bool> gathers) {
    std::vector<std::shared_ptr<transport::Transport>> ends;
    for (auto& end : transport::make_in_process(2, std::chrono::milliseconds(500))) ends.push_back(std::move(end));
    std::vector<Diagnostics> problems(2);
    const Graph graph = layer_with_state();
    std::vector<std::jthread> threads;
    for (size_t p = 0; p < 2; p++) {
        threads.emplace_back([&, p] {
            const auto places = make_places(two_places(std::move(ends[p])));  // its end goes with the thread
            const TensorData w = filled({6, 4}, 2), g = filled({6, 4}, 3);
            const std::vector<Value> inputs = {Value::of(filled({8, 6}, 1)), Value::of(w), Value::of(g)};
            auto program = places->compile(graph, weights_stay, inputs);
            auto results = program ? (*program)->run(inputs) : fail(program.error());
            if (!results) {
                problems[p] = results.error();
                return;
            }
            const inference::SpreadTensor& spread = *(*results)[1].spread;
            EXPECT_FALSE(spread.is_here());
            if (!gathers[p]) return;
            auto whole = places->gather(spread);
            if (!whole) {
                problems[p] = whole.error();
                return;
            }
            for (int64_t i = 0; i < w.size(); i++) EXPECT_EQ(whole->real_at(i), w.real_at(i) + g.real_at(i));
        });
    }
    threads.clear();
    return problems;
}

TEST(Spread, IsGatheredByAllTogether) {
    for (const Diagnostics& problems : gathered_by({true, true})) EXPECT_TRUE(problems.empty()) << render(problems);
}

TEST(Spread, WhoGathersAloneIsTold) {
    const auto problems = gathered_by({true, false});
    ASSERT_FALSE(problems[0].empty());
    EXPECT_EQ(problems[0].back().code, "running.gather") << render(problems[0]);
    EXPECT_EQ(problems[0].front().code.substr(0, 10), "transport.");
}

TEST(Together, Softmax) {
    const Graph graph = graph_of("y = softmax(x, axis: 1); z = matmul(y, w)", {input("x", {8, 6}), input("w", {6, 5})});
    expect_whole(graph, cuts_by(graph, "j", 2), 2);
}

}  // namespace
}  // namespace heddle::running
