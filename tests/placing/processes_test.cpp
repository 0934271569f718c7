// A program as one function a process.
#include <gtest/gtest.h>

#include "alike_processes.h"
#include "helpers/programs.h"
#include "placing/choose_cuts.h"
#include "placing/parts.h"
#include "placing/processes.h"
#include "placing/sharded.h"

namespace heddle::placing {
namespace {

// Rows of layers: one layer's parts need margins of one side only. Then both places have work at once: no step takes
// two layers, of which the other place waits for the second while this one waits for what the first needs.
TEST(Processes, PlacesDoNotTakeTurnsAtLayers) {
    const Graph graph = graph_of(
        "a = conv(x, k, pads: 1); b = conv(a, k, strides: 2, pads: [1, 1, 0, 0]); c = conv(b, k, pads: 1); "
        "d = conv(c, k, pads: 1); e = conv(d, k, pads: 1)",
        {input("x", {1, 4, 32, 32}), input("k", {4, 4, 3, 3})});
    const auto said = parse_cuts({"out0=2"});
    ASSERT_TRUE(said) << render(said.error());
    const System system = alike_processes(Target{}, 2, 1e9, 1e-6);
    const std::vector readers = {sharding::PlaceId(0)};
    const auto cutting = choose_cuts(graph, *said, system, readers);
    ASSERT_TRUE(cutting) << render(cutting.error());
    const auto placed = sharding::place(graph, cutting->cuts, readers);
    ASSERT_TRUE(placed) << render(placed.error());
    const Function mixed = mixed_function("main", placed->graph, system, placement_of(*placed, system, readers));
    for (const Module& module : by_process(mixed, system, nullptr).modules) {
        for (const Function& function : module.functions) {
            bool has_received = false;
            for (const Step& step : function.steps) {
                has_received = has_received || step.kind == Step::Kind::receive;
                if (step.kind != Step::Kind::compute || !has_received) continue;
                const auto layers = std::ranges::count_if(step.graph->operations, [](const Operation& operation) {
                    return operation.name.find("shard") != std::string::npos;
                });
                EXPECT_LE(layers, 1) << print(module);
            }
        }
    }
}

// What a process sends while it computes needs nothing that comes later; else both would wait.
TEST(Processes, WhatIsSentTooLateIsNoticed) {
    const Graph graph = graph_of("h = matmul(x, w); y = softmax(matmul(h, v), axis: 1)",
                                 {input("x", {8, 6}), input("w", {6, 5}), input("v", {5, 7})});
    const auto said = parse_cuts({"k=2"});
    auto program = sharded(graph, *said, alike_processes(Target{}, 2, 1e9, 1e-6), {sharding::PlaceId(0)});
    ASSERT_TRUE(program) << render(program.error());
    ASSERT_TRUE(verify_messages(program->processes));
    for (Module& module : program->processes) {
        for (Function& function : module.functions)
            for (Step& step : function.steps) std::ranges::reverse(step.exchanges);
    }
    const auto wrong = verify_messages(program->processes);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error()[0].code, "placing.broken");
}

// All that a process computes is one step: nothing ends where something is sent.
TEST(Processes, AProcessIsOneStep) {
    const Graph graph = graph_of("h = matmul(x, w); y = softmax(matmul(h, v), axis: 1)",
                                 {input("x", {8, 6}), input("w", {6, 5}), input("v", {5, 7})});
    const auto said = parse_cuts({"k=2"});
    const auto program = sharded(graph, *said, alike_processes(Target{}, 2, 1e9, 1e-6), {sharding::PlaceId(0)});
    ASSERT_TRUE(program) << render(program.error());
    for (const Module& module : program->processes) {
        ASSERT_EQ(module.functions[0].steps.size(), 1u) << print(module);
        EXPECT_GE(module.functions[0].steps[0].exchanges.size(), 2u) << print(module);
    }
}

}  // namespace
}  // namespace heddle::placing
