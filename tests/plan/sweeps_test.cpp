// Scans whose steps share sweeps over a state: by blocks of four, three and two steps, and where no block divides the
// steps, they give what the interpreter does.
#include <gtest/gtest.h>

#include <cmath>

#include "evaluate/evaluate.h"
#include "helpers/running.h"
#include "symbolic/program.h"

namespace heddle::plan {
namespace {

const char* const templates = R"yaml(
let: |
  dominant(x, i, j) = x[i, j] + (i == j ? 80 : 0)

eliminated:
  doc: Both factors in the place of the matrix, under conditions that move with the step.
  inputs: {x: "$T[$n, ($n)]"}
  index: "[]"
  outputs: {y: "$T[$n, $n]"}
  body: |
    scan t < $n:
      a[t, i < $n, j < $n] = i <= t ? a[t - 1, i, j] : j < t ? a[t - 1, i, j]
        : j == t ? a[t - 1, i, t] / a[t - 1, t, t]
        : a[t - 1, i, j] - a[t - 1, i, t] / a[t - 1, t, t] * a[t - 1, t, j] from dominant(x, i, j)
    y[i, j] = a[$n - 1, i, j]

factors:
  doc: Columns and rows, each step's; the norms of all steps so far, which the scan reads too.
  inputs: {x: "$T[$n, ($n)]"}
  index: "[]"
  outputs: {L: "$T[$n, $n]", U: "$T[$n, $n]", norm: "$T[$n + 1]"}
  body: |
    scan t < $n:
      let row[j < $n] = j >= t ? a[t - 1, t, j] : 0
      let column[i < $n] = i >= t ? a[t - 1, i, t] / a[t - 1, t, t] : 0
      a[t, i < $n, j < $n] = a[t - 1, i, j] - column[i] * row[j] from dominant(x, i, j)
      s[t] = 0.5 * s[t - 1] + sum(i < $n : column[i] * row[i]) from 1
      found[t, i < $n] = column[i] + 0.01 * s[t - 1] from 0
      U[t, j] = row[j]
    L[i, t] = found[t, i]
    norm[t] = s[t - 1]

factorised:
  doc: A half of a symmetric matrix.
  inputs: {x: "$T[$n, ($n)]"}
  index: "[]"
  outputs: {L: "$T[$n, $n]"}
  body: |
    scan t < $n:
      let column[i < $n] = i >= t ? a[t - 1, t, i] * rsqrt(a[t - 1, t, t]) : 0
      a[t, i < $n, j < $n] = a[t - 1, i, j] - column[i] * column[j] from dominant(x, min(i, j), max(i, j))
      found[t, i < $n] = column[i] from 0
    L[i, t] = found[t, i]

shortest:
  doc: Two states, one of which decides for both; the last step of a third one.
  inputs: {x: "$T[$n, ($n)]"}
  index: "[]"
  outputs: {y: "$T[$n, $n]", hop: "int32[$n, $n]", seen: "$T[$n]"}
  body: |
    scan k < $n:
      let through[i < $n] = abs(d[k - 1, i, k])
      d[k, i < $n, j < $n] = min(d[k - 1, i, j], through[i] + d[k - 1, k, j]) from abs(x[i, j])
      h[k, i < $n, j < $n] = through[i] + d[k - 1, k, j] < d[k - 1, i, j] ? h[k - 1, i, k] : h[k - 1, i, j] from int32(j)
      v[k, i < $n] = max(v[k - 1, i], d[k, k, i]) from 0
    y[i, j] = d[$n - 1, i, j]
    hop[i, j] = h[$n - 1, i, j]
    seen[i] = v[$n - 1, i]
)yaml";

void check(const std::string& call, int64_t n) {
    SCOPED_TRACE(call + " of " + std::to_string(n));
    static const Library library = library_with(templates);
    const std::vector<ProgramInput> inputs = {{"x", {DType::float32, {n, n}}}};
    auto graph = build_program(std::make_shared<SourceText>("call", call), library, inputs);
    ASSERT_TRUE(graph) << render(graph.error());
    const std::vector<TensorData> feeds = {random_tensor({n, n}, 11)};
    auto expected = evaluate_graph(*graph, feeds, Precision::body);
    ASSERT_TRUE(expected) << render(expected.error());
    for (const bool fuse : {true, false}) {
        auto plan = make_plan(*graph, detect_host(), {.fuse = fuse});
        ASSERT_TRUE(plan) << render(plan.error());
        EXPECT_TRUE(plan->notes.empty()) << render(plan->notes);
        auto found = runtime::Session(compiled(std::move(*plan)), std::make_shared<ThreadPool>(2)).run(feeds);
        ASSERT_TRUE(found) << render(found.error());
        for (size_t o = 0; o < found->size(); o++) {
            const TensorData& wanted = (*expected)[static_cast<size_t>(graph->outputs[o])];
            for (int64_t i = 0; i < wanted.size(); i++)
                ASSERT_NEAR((*found)[o].real_at(i), wanted.real_at(i), 1e-4 * (1 + std::abs(wanted.real_at(i))))
                    << "output " << o << ", element " << i;
        }
    }
}

TEST(Sweeps, GiveWhatTheInterpreterDoes) {
    for (int64_t n : {64, 66, 70, 67}) {
        check("y = eliminated(x)", n);
        check("L, U, norm = factors(x)", n);
        check("L = factorised(x)", n);
        check("y, hop, seen = shortest(x)", n);
    }
}

}  // namespace
}  // namespace heddle::plan
