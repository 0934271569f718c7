// Scans of several axes, of which slices are read at steps of their own: they give what the interpreter does, at random
// sizes, in one task and in rounds, and the memory of a plan does not grow by whole states with the steps.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "equations/passes.h"
#include "evaluate/evaluate.h"
#include "helpers/running.h"
#include "symbolic/program.h"

namespace heddle::plan {
namespace {

const char* const templates = R"yaml(
let: |
  bordered(x, i, j, m, n) = i >= 0 && i < m && j >= 0 && j < n ? x[i, j] : 0

relaxed:
  doc: The last of many sweeps in place.
  params: {sweeps: int}
  inputs: {x: "$T[$m, $n]"}
  index: "[]"
  outputs: {y: "$T[$m, $n]"}
  body: |
    scan t < $sweeps, i < $m, j < $n:
      let above = u[t, i - 1, j - 1] + u[t, i - 1, j] + u[t, i - 1, j + 1] + u[t, i, j - 1]
      let below = u[t - 1, i, j + 1] + u[t - 1, i + 1, j - 1] + u[t - 1, i + 1, j] + u[t - 1, i + 1, j + 1]
      u[t, i, j] = (above + u[t - 1, i, j] + below) / 9.0 from bordered(x, i, j, $m, $n)
    y[i, j] = u[$sweeps - 1, i, j]

changes:
  doc: Two sweeps, also from the end on, and outside.
  params: {sweeps: int}
  inputs: {x: "$T[$m, $n]"}
  index: "[]"
  outputs: {y: "$T[$m, $n]", z: "$T[$m, $n]", far: "$T[$m]"}
  body: |
    scan t < $sweeps, i < $m, j < $n:
      u[t, i, j] = (u[t, i - 1, j] + u[t, i, j - 1] + u[t - 1, i + 1, j] + u[t - 1, i, j + 1]) / 4.0
        from bordered(x, i, j, $m, $n)
    y[i, j] = u[$sweeps - 1, i, j] - u[$sweeps - 2, i, j]
    z[i, j] = 2 * (u[$sweeps - 1, $m - 1 - i, j + 2] ?? 7)
    far[i] = sum(j < $n : u[$sweeps - 1, i, j]) + (u[$sweeps - 1, i - 2, 0] ?? 5)

edges:
  doc: The last row of each sweep, and the last column.
  params: {sweeps: int}
  inputs: {x: "$T[$m, $n]"}
  index: "[]"
  outputs: {row: "$T[$sweeps, $n]", column: "$T[$m, $sweeps]"}
  body: |
    scan t < $sweeps, i < $m, j < $n:
      u[t, i, j] = 0.5 * u[t, i - 1, j] - 0.25 * u[t, i, j - 1] + u[t - 1, i, j] from bordered(x, i, j, $m, $n)
    row[t, j] = u[t, $m - 1, j]
    column[i, t] = u[t, i, $n - 1]

everywhere:
  doc: All cells are read, so all are kept.
  params: {sweeps: int}
  inputs: {x: "$T[$m, $n]"}
  index: "[]"
  outputs: {y: "$T[$sweeps, $m, $n]", last: "$T[$m, $n]"}
  body: |
    scan t < $sweeps, i < $m, j < $n:
      u[t, i, j] = 0.5 * u[t, i - 1, j] - 0.25 * u[t, i, j - 1] + u[t - 1, i, j] from bordered(x, i, j, $m, $n)
    y[t, i, j] = u[t, i, j]
    last[i, j] = u[$sweeps - 1, i, j]

one_place:
  doc: A scan of one axis, of which one element of each step is read.
  params: {sweeps: int}
  inputs: {x: "$T[$m, $n]"}
  index: "[]"
  outputs: {y: "$T[$sweeps]", z: "$T[$n]"}
  body: |
    scan t < $sweeps:
      u[t, i < $m, j < $n] = 0.5 * (u[t - 1, i, j - 1] ?? 1) + 0.25 * u[t - 1, (i + 1) % $m, j] from x[i, j]
    y[t] = max(k < 3 : u[t, min(k, $m - 1), 0])
    z[j] = u[$sweeps - 1, 0, j]
)yaml";

Graph graph_of(const std::string& call, int64_t m, int64_t n) {
    static const Library library = library_with(templates);
    auto graph = build_program(std::make_shared<SourceText>("call", call), library, {{"x", {DType::float32, {m, n}}}});
    EXPECT_TRUE(graph) << render(graph.error());
    return graph ? std::move(*graph) : Graph{};
}

// Rounds wherever they are possible.
Target eager() {
    Target target = detect_host();
    target.cores = 3;
    target.launch_seconds = 1e-12;
    return target;
}

void check(const std::string& call, int64_t m, int64_t n) {
    SCOPED_TRACE(call + " of " + std::to_string(m) + " x " + std::to_string(n));
    const Graph graph = graph_of(call, m, n);
    const std::vector<TensorData> feeds = {random_tensor({m, n}, 11)};
    auto expected = evaluate_graph(graph, feeds, Precision::body);
    ASSERT_TRUE(expected) << render(expected.error());
    for (const Target& target : {detect_host(), eager()}) {
        auto plan = make_plan(graph, target);
        ASSERT_TRUE(plan) << render(plan.error());
        EXPECT_TRUE(plan->notes.empty()) << render(plan->notes);
        auto found = runtime::Session(compiled(std::move(*plan)), std::make_shared<ThreadPool>(2)).run(feeds);
        ASSERT_TRUE(found) << render(found.error());
        for (size_t o = 0; o < found->size(); o++) {
            const TensorData& wanted = (*expected)[static_cast<size_t>(graph.outputs[o])];
            for (int64_t i = 0; i < wanted.size(); i++)
                ASSERT_NEAR((*found)[o].real_at(i), wanted.real_at(i), 1e-5 * (1 + std::abs(wanted.real_at(i))))
                    << "output " << o << ", element " << i;
        }
    }
}

TEST(Waves, GiveWhatTheInterpreterDoes) {
    std::mt19937 random(5);
    for (const char* call : {"y = relaxed(x, sweeps: {})", "y, z, far = changes(x, sweeps: {})",
                             "row, column = edges(x, sweeps: {})", "y, last = everywhere(x, sweeps: {})",
                             "y, z = one_place(x, sweeps: {})"}) {
        for (int trial = 0; trial < 4; trial++) {
            const int64_t sweeps = 2 + random() % 12;
            check(fmt::format(fmt::runtime(call), sweeps), 1 + random() % 20, 1 + random() % 40);
        }
    }
}

// Of a plan, beside inputs and results.
int64_t bytes_of(const std::string& call, bool slices) {
    const auto passes = [&](equations::System& system) {
        std::set<std::string_view> without;
        if (!slices) without.insert("slices");
        equations::optimise(system, {.without = without});
    };
    auto plan = make_plan(graph_of(call, 60, 50), detect_host(), {.passes = passes});
    EXPECT_TRUE(plan) << render(plan.error());
    return plan ? plan->workspace_bytes + plan->scratch_bytes : 0;
}

// A sweep is 12,000 bytes, and waves are some two hundred more than four a sweep.
TEST(Waves, OnlySlicesThatAreReadAreKept) {
    for (const char* call : {"y = relaxed(x, sweeps: 50)", "y, z, far = changes(x, sweeps: 50)"}) {
        EXPECT_LT(bytes_of(call, true), 500'000) << call;
        EXPECT_GT(bytes_of(call, false), 1'500'000) << call;
    }
    EXPECT_LT(bytes_of("y, z = one_place(x, sweeps: 50)", true), 50'000);
    EXPECT_GT(bytes_of("y, z = one_place(x, sweeps: 50)", false), 500'000);
}

}  // namespace
}  // namespace heddle::plan
