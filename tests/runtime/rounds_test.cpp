// Scans in rounds: the same bits, and the same failure, by any number of threads; plans of them as text.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "evaluate/evaluate.h"
#include "helpers/running.h"
#include "symbolic/program.h"

namespace heddle::runtime {
namespace {

constexpr const char* templates = R"(
spread:
  params: {steps: int}
  inputs: {x: "$T[$h, $w]"}
  index: "[]"
  outputs: {y: "$T[$h, $w]", total: "$T[$steps]"}
  body: |
    scan t < $steps:
      let near[i < $h, j < $w] = u[t - 1, max(i - 1, 0), j] + u[t - 1, (i + 1) % $h, (j + 1) % $w]
      let row[i < $h] = sum(j < $w : near[i, j])
      u[t, i < $h, j < $w] = 0.25 * near[i, j] + 0.5 * (near[i, j - 1] ?? 0) + 0.001 * row[i] from x[i, j]
      s[t] = 0.5 * s[t - 1] + sum(i < $h : row[i]) from 0
    y[i, j] = u[$steps - 1, i, j]
    total[t] = s[t]

follow:
  params: {steps: int}
  inputs: {next: "int32[$n]", x: "$T[$n]"}
  index: "[]"
  outputs: {y: "$T[$n]"}
  body: |
    scan t < $steps:
      u[t, i < $n] = 0.5 * u[t - 1, next[i]] + u[t - 1, i] from x[i]
    y[i] = u[$steps - 1, i]
)";

// Rounds wherever they are possible.
Target eager() {
    Target target = detect_host();
    target.cores = 3;
    target.launch_seconds = 1e-12;
    return target;
}

Graph graph_of(const std::string& calls, const std::vector<ProgramInput>& inputs) {
    static const Library library = library_with(templates);
    auto graph = build_program(std::make_shared<SourceText>("program", calls), library, inputs);
    EXPECT_TRUE(graph) << (graph ? "" : render(graph.error()));
    return graph ? std::move(*graph) : Graph{};
}

plan::Plan plan_in_rounds(const Graph& graph) {
    auto plan = plan::make_plan(graph, eager());
    EXPECT_TRUE(plan) << (plan ? "" : render(plan.error()));
    if (!plan) return {};
    EXPECT_TRUE(plan->notes.empty()) << render(plan->notes);
    const bool any = std::ranges::any_of(plan->run, [](const plan::Batch& batch) {
        return std::ranges::any_of(batch, [](const plan::Launch& launch) { return launch.rounds > 1; });
    });
    EXPECT_TRUE(any) << print(*plan);
    return std::move(*plan);
}

ProgramInput input(const std::string& name, DType dtype, std::vector<int64_t> shape) {
    return {name, {dtype, {shape.begin(), shape.end()}}};
}

TEST(Rounds, SameBitsByAnyNumberOfThreads) {
    for (const auto& [h, w] : {std::pair<int64_t, int64_t>{70, 53}, {2, 90}, {33, 16}}) {
        const Graph graph = graph_of("y, total = spread(x, steps: 9)", {input("x", DType::float32, {h, w})});
        const std::vector<TensorData> feeds = {random_tensor({h, w}, 7)};
        auto executable = compiled(plan_in_rounds(graph));
        ASSERT_TRUE(executable);
        std::vector<TensorData> first;
        for (int threads : {1, 2, 3, 4, 8, 2, 2, 3}) {
            auto found = Session(executable, std::make_shared<ThreadPool>(threads)).run(feeds);
            ASSERT_TRUE(found) << render(found.error());
            if (first.empty()) first = *found;
            for (size_t o = 0; o < first.size(); o++) {
                const auto size = static_cast<size_t>(first[o].byte_size());
                EXPECT_EQ(std::memcmp(first[o].data(), (*found)[o].data(), size), 0)
                    << threads << " threads, output " << o;
            }
        }
        auto expected = evaluate_graph(graph, feeds, Precision::body);
        ASSERT_TRUE(expected) << render(expected.error());
        for (size_t o = 0; o < first.size(); o++) {
            const TensorData& wanted = (*expected)[static_cast<size_t>(graph.outputs[o])];
            for (int64_t i = 0; i < wanted.size(); i++)
                ASSERT_NEAR(first[o].real_at(i), wanted.real_at(i), 1e-4 * (1 + std::abs(wanted.real_at(i))));
        }
    }
}

// In the third step of two threads or more, other parts of a failing round run on.
TEST(Rounds, SameFailureByAnyNumberOfThreads) {
    constexpr int64_t n = 4'000;
    const Graph graph =
        graph_of("y = follow(next, x, steps: 50)", {input("next", DType::int32, {n}), input("x", DType::float32, {n})});
    auto executable = compiled(plan_in_rounds(graph));
    ASSERT_TRUE(executable);
    TensorData next(DType::int32, {n});
    for (int64_t i = 0; i < n; i++) next.set_integer(i, i % 1'500 == 1'499 ? n + i : n - 1 - i);
    std::string first;
    for (int threads : {1, 2, 3, 4, 3, 2}) {
        auto found = Session(executable, std::make_shared<ThreadPool>(threads)).run({next, random_tensor({n}, 7)});
        ASSERT_FALSE(found);
        if (first.empty()) first = render(found.error());
        EXPECT_EQ(render(found.error()), first) << threads;
        EXPECT_EQ(found.error().front().code, "runtime.index_out_of_range");
    }
}

TEST(Rounds, PlansParseBack) {
    const Graph graph = graph_of("y, total = spread(x, steps: 9)", {input("x", DType::float32, {70, 53})});
    const std::string text = print(plan_in_rounds(graph));
    auto parsed = plan::parse_plan(std::make_shared<SourceText>("plan", text), {});
    ASSERT_TRUE(parsed) << render(parsed.error());
    EXPECT_EQ(print(*parsed), text);
    for (const char* wrong : {" rounds 7", ""}) {
        std::string other = text;
        const size_t at = other.find(" rounds ");
        other.replace(at, other.find(' ', at + 8) - at, wrong);
        EXPECT_FALSE(plan::parse_plan(std::make_shared<SourceText>("plan", other), {})) << wrong;
    }
}

}  // namespace
}  // namespace heddle::runtime
