// Each pass still earns its place: a program of the gallery that is worse without it, on a made-up target and no clock.
// What bench/passes.py measures has the times. Passes that are not here change what a step of a scan does, or which
// tasks there are, and neither figure shows it: tests/equations has them.
#include <gtest/gtest.h>

#include "codegen/instruction_count.h"
#include "equations/cost.h"
#include "equations/passes.h"
#include "helpers/library.h"
#include "plan/plan.h"
#include "symbolic/program.h"

namespace heddle::plan {
namespace {

enum class Figure : uint8_t { bytes, operations, instructions };

struct Witness {
    const char* pass;
    Figure figure;
    const char* group;  // of the gallery
    const char* call;
    std::vector<ProgramInput> inputs;
};

ProgramInput input(const char* name, DType dtype, std::vector<int64_t> shape) {
    return {name, {dtype, {shape.begin(), shape.end()}}};
}

std::vector<Witness> witnesses() {
    const auto f32 = DType::float32;
    return {
        {"merge", Figure::instructions, "audio", "y = stft(x, size: 512, hop: 128)", {input("x", f32, {16000})}},
        {"narrow", Figure::bytes, "data", "y = rank_sort(x)", {input("x", f32, {4096})}},
        {"separate",
         Figure::operations,
         "vision",
         "y = ssim(a, b)",
         {input("a", f32, {512, 512}), input("b", f32, {512, 512})}},
        {"unroll", Figure::bytes, "vision", "y = sobel(x)", {input("x", f32, {1080, 1920})}},
        {"narrow-steps", Figure::operations, "vision", "y = halve(x)", {input("x", DType::uint8, {2160, 3840})}},
        {"common-subexpressions",
         Figure::operations,
         "sequences",
         "y = softmax_middle(x)",
         {input("x", f32, {32, 256, 512})}},
        {"views", Figure::instructions, "data", "y = crc32(data)", {input("data", DType::uint8, {65536})}},
        {"pointwise",
         Figure::bytes,
         "sequences",
         "y = edit_distance(a, b)",
         {input("a", DType::int32, {2000}), input("b", DType::int32, {2500})}},
        {"hoist", Figure::operations, "sequences", "y = rotary_interleaved(x)", {input("x", f32, {8, 16, 1024, 64})}},
        {"words",
         Figure::operations,
         "graphs",
         "y = reachability(a, b)",
         {input("a", DType::boolean, {512, 512}), input("b", DType::boolean, {512, 512})}},
        {"factor-axes",
         Figure::instructions,
         "vision",
         "y = pixel_shuffle(x, r: 2)",
         {input("x", f32, {64, 128, 128})}},
        {"join-scans", Figure::bytes, "games", "y = rule_110(x, steps: 4096)", {input("x", DType::uint8, {4096})}},
        {"demand",
         Figure::instructions,
         "sequences",
         "y = edit_distance(a, b)",
         {input("a", DType::int32, {2000}), input("b", DType::int32, {2500})}}};
}

double figure_of(const Graph& graph, const Target& target, Figure figure, const std::string& without) {
    const auto passes = [&](equations::System& system) { equations::optimise(system, {.without = {without}}); };
    if (figure == Figure::instructions) {
        auto plan = make_plan(graph, target, {.passes = passes});
        EXPECT_TRUE(plan && plan->notes.empty()) << (plan ? render(plan->notes) : render(plan.error()));
        int64_t count = 0;
        for (size_t i = 0; plan && i < plan->trees.size(); i++) count += codegen::instruction_count(*plan->trees[i]);
        return static_cast<double>(count);
    }
    auto system = equations::lower(graph);
    EXPECT_TRUE(system) << (system ? "" : render(system.error()));
    if (!system) return 0;
    passes(*system);
    const auto cost = equations::run_cost(*system, equations::fuse(*system, target, {}), target);
    return figure == Figure::bytes ? cost.bytes : cost.operations;
}

TEST(PassesPlan, AProgramIsWorseWithoutEach) {
    auto target = load_target(in_source("tests/plan/choices/wide.json"));
    ASSERT_TRUE(target) << render(target.error());
    for (const Witness& witness : witnesses()) {
        SCOPED_TRACE(witness.pass);
        ASSERT_NE(equations::pass_named(witness.pass), nullptr);
        Library library = library_with();
        auto added = library.add_library(in_source(std::string("examples/gallery/") + witness.group + ".yaml"));
        ASSERT_TRUE(added) << render(added.error());
        auto graph = build_program(std::make_shared<SourceText>("program", witness.call), library, witness.inputs);
        ASSERT_TRUE(graph) << render(graph.error());
        const double with = figure_of(*graph, *target, witness.figure, "");
        EXPECT_GT(figure_of(*graph, *target, witness.figure, witness.pass), with * 1.01) << with;
    }
}

}  // namespace
}  // namespace heddle::plan
