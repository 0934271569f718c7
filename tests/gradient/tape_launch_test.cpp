// What a tape keeps lies where index points say, whatever launches write and read it: two programs, each planned for another
// machine than the other, hand it on.
#include <gtest/gtest.h>

#include "evaluate/evaluate.h"
#include "gradient/gradient.h"
#include "gradient/split.h"
#include "helpers/running.h"
#include "symbolic/program.h"

namespace heddle::gradient {
namespace {

Graph program_of(const std::vector<int64_t>& shape) {
    const std::vector<Size> sizes(shape.begin(), shape.end());
    auto graph = build_program(std::make_shared<SourceText>("case", "y = softmax(sin(exp(mul(x, w))), axis: 0)"),
                               library(), {{"x", {DType::float32, sizes}}, {"w", {DType::float32, sizes}}});
    EXPECT_TRUE(graph) << (graph ? "" : render(graph.error()));
    return graph ? std::move(*graph) : Graph{};
}

std::vector<TensorData> run_on(const Target& target, const Graph& graph, const std::vector<TensorData>& inputs,
                               int threads) {
    auto made = plan::make_plan(graph, target, {});
    EXPECT_TRUE(made) << (made ? "" : render(made.error()));
    const auto executable = made ? compiled(std::move(*made), threads) : nullptr;
    if (!executable) return {};
    auto results = runtime::Session(executable, std::make_shared<ThreadPool>(threads)).run(inputs);
    EXPECT_TRUE(results) << (results ? "" : render(results.error()));
    return results ? std::move(*results) : std::vector<TensorData>{};
}

// Machines with vectors, registers and caches of several sizes: tiles and tasks follow.
std::vector<Target> machines() {
    std::vector<Target> targets(6, detect_host());
    for (size_t i = 0; i < targets.size(); i++) {
        Target& target = targets[i];
        if (i % 2 == 1) target.vector_bytes = 32, target.vector_registers = 16;
        target.maximum_rows = 2 + 2 * static_cast<int>(i);
        target.l1_bytes = int64_t{4 << 10} << i;
        target.l2_bytes = 16 * target.l1_bytes;
        target.cores = 1 + static_cast<int>(i) % 3;
    }
    return targets;
}

TEST(CompileJobs12, ATapeIsAddressedByIndexPoints) {
    const std::vector<Target> targets = machines();
    const std::vector<std::vector<int64_t>> shapes = {{37},      {37, 19}, {7, 5, 19}, {3, 5, 2, 17}, {2, 3, 4, 2, 9},
                                                      {4, 0, 3}, {0}};
    for (const auto& shape : shapes) {
        const Graph graph = program_of(shape);
        auto passes = gradient::split(graph, {graph.inputs, graph.inputs, {.kind = TapePolicy::Kind::save_all}});
        ASSERT_TRUE(passes) << render(passes.error());
        const bool is_empty = std::ranges::find(shape, 0) != shape.end();  // then nothing is computed, nor kept
        ASSERT_EQ(passes->tape.entries.empty(), is_empty);
        auto whole = gradient(graph, graph.inputs);
        ASSERT_TRUE(whole) << render(whole.error());
        std::vector<TensorData> feeds;
        for (uint64_t seed = 0; seed < 3; seed++) feeds.push_back(random_tensor(shape, seed, 0.3));
        const auto expected = evaluate_graph(*whole, feeds, Precision::body);
        ASSERT_TRUE(expected) << render(expected.error());
        for (size_t i = 0; i < targets.size(); i++) {
            SCOPED_TRACE(i);
            const int threads = 1 + static_cast<int>(i) % 3;
            std::vector<TensorData> given = run_on(targets[i], passes->forward, {feeds[0], feeds[1]}, threads);
            ASSERT_EQ(given.size(), passes->tape.entries.size() + 1);
            if (graph.tensor(graph.outputs[0]).constant) given.clear();
            given.push_back(feeds[2]);
            const std::vector<TensorData> found =
                run_on(targets[targets.size() - 1 - i], passes->reverse, given, 4 - threads);
            ASSERT_EQ(found.size(), 2u);
            for (size_t o = 0; o < 2; o++) {
                const TensorData& right = (*expected)[static_cast<size_t>(whole->outputs[o])];
                ASSERT_EQ(found[o].shape(), right.shape());
                for (int64_t k = 0; k < right.size(); k++) EXPECT_NEAR(found[o].real_at(k), right.real_at(k), 1e-5);
            }
        }
    }
}

}  // namespace
}  // namespace heddle::gradient
