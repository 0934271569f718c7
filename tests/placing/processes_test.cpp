// A program as one function a process.
#include <gtest/gtest.h>

#include "alike_processes.h"
#include "helpers/programs.h"
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
    const auto program = sharded(graph, *said, alike_processes(Target{}, 2, 1e9, 1e-6), {sharding::PlaceId(0)});
    ASSERT_TRUE(program) << render(program.error());
    for (const Module& module : program->processes) {
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

}  // namespace
}  // namespace heddle::placing
