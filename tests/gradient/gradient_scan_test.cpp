// Gradients of scans: what each step gives to the one before, held against differences, fused and compiled.
#include <set>

#include "compiled.h"
#include "differences.h"
#include "equations/passes.h"

namespace heddle::gradient {
namespace {

const char* const operators = R"yaml(
decay:
  doc: One number that is carried along.
  inputs: {x: "$T[$n]", a: "$T[]"}
  index: "[]"
  outputs: {y: "$T[$n]", last: "$T[]"}
  body: |
    scan t < $n:
      s[t] = tanh(a[] * s[t - 1] + x[t]) from a[] * 0.5
      y[t] = s[t] * s[t - 1]
    last[] = s[$n - 1]
ring:
  doc: Each place reads its neighbours at the step before, and all of them.
  inputs: {x: "$T[$n, $m]", w: "$T[$m]"}
  index: "[]"
  outputs: {y: "$T[$n, $m]"}
  body: |
    scan t < $n:
      s[t, j < $m] = sin(s[t - 1, (j + 1) % $m] * w[j] + s[t - 1, $m - 1 - j]) + x[t, j] * max(k < $m : s[t - 1, k])
        from w[j] * w[j]
    y[t, j] = s[t, j]
two:
  doc: Two states, of which one reads the other at its own step, and a scan over what they were.
  inputs: {x: "$T[$b, $n]", w: "$T[]"}
  index: "[$b]"
  outputs: {y: "$T[$b, $n]"}
  body: |
    scan t < $n:
      p[t] = p[t - 1] * w[] + x[@b, t] * q[t - 1] from 1
      q[t] = exp(0 - p[t] * p[t]) + q[t - 1] * x[@b, t] from w[]
    scan u < $n:
      r[u] = r[u - 1] * p[u] + q[$n - 1 - u] * q[u - 1] from p[$n - 1]
    y[@b, j] = r[j]
state_space:
  inputs: {u: "$T[$l, $d]", e: "$T[$l, $d]", A: "$T[$d, $n]", B: "$T[$l, $n]", C: "$T[$l, $n]"}
  index: "[$d]"
  outputs: {y: "$T[$l, $d]"}
  body: |
    scan t < $l:
      let step = log(1 + exp(e[t, @d]))
      h[t, n < $n] = exp(step * A[@d, n]) * h[t - 1, n] + B[t, n] * u[t, @d] from 0
      y[t, @d] = sum(n < $n : C[t, n] * h[t, n])
)yaml";

const Library& scans() {
    static const Library library = library_with(operators);
    return library;
}

std::vector<Case> scan_cases() {
    const Given x{"x", {3, 2, 4}}, r{"r", {1, 3, 3}}, b{"b", {1, 6}}, h{"h", {1, 2, 3}};
    const Given lengths{"l", {2}, 0, 0, {2, 3}};
    return {
        {"y = cumprod(x, axis: 1)", {{"x", {2, 5}, 0.5, 2}}},
        {"y = cumprod(x, axis: 0, exclusive: true, reverse: true)", {{"x", {4, 2}, 0.5, 2}}},
        {"y, last = decay(x, a)", {{"x", {5}}, {"a", {}, 0.3, 0.9}}},
        {"y, last = decay(x, a)", {{"x", {1}}, {"a", {}, 0.3, 0.9}}},
        {"y, last = decay(x, a)", {{"x", {0}}, {"a", {}, 0.3, 0.9}}},
        {"y = ring(x, w)", {{"x", {4, 3}, 0.1, 0.8}, {"w", {3}, 0.4, 1.3}}},
        {"y = two(x, w)", {{"x", {2, 4}}, {"w", {}, 0.4, 0.8}}},
        {"v, i = top_k(x, k: 2)", {{"x", {2, 9}}}},
        {"y = state_space(u, e, A, B, C)", {{"u", {4, 2}}, {"e", {4, 2}}, {"A", {2, 3}}, {"B", {4, 3}}, {"C", {4, 3}}}},
        {"y, s = linear_attention(q, k, v, p, d, b, delta: true)",
         {{"q", {1, 4, 3, 2}},
          {"k", {1, 2, 3, 2}},
          {"v", {1, 2, 3, 2}},
          {"p", {1, 2, 2, 2}},
          {"d", {1, 2, 3, 2}},
          {"b", {1, 2, 3}}}},
        {"y, z = rnn(x, w, r)", {x, {"w", {1, 3, 4}}, r}},
        {"y, z = rnn(x, w, r, b, cast(l, to: int32), h, backward: true, activations: ['Softplus'])",
         {x, {"w", {1, 3, 4}}, r, b, lengths, h}},
        {"y, z = gru(x, w, r)", {x, {"w", {1, 9, 4}}, {"r", {1, 9, 3}}}},
        {"y, z, c = lstm(x, w, r, b, cast(l, to: int32), h, c, p)",
         {x, {"w", {1, 12, 4}}, {"r", {1, 12, 3}}, {"b", {1, 24}}, lengths, h, {"c", {1, 2, 3}}, {"p", {1, 9}}}},
    };
}

Graph graph_of(const Case& one, DType dtype) {
    std::vector<ProgramInput> inputs;
    for (const Given& given : one.inputs) {
        std::vector<Size> shape(given.shape.begin(), given.shape.end());
        inputs.push_back({given.name, {given.integers.empty() ? dtype : DType::int64, shape}});
    }
    auto graph = build_program(std::make_shared<SourceText>("case", one.text), scans(), inputs);
    EXPECT_TRUE(graph) << (graph ? "" : render(graph.error()));
    return graph ? std::move(*graph) : Graph{};
}

TEST(GradientOfScans, AgreesWithDifferences) {
    for (const Case& one : scan_cases()) {
        SCOPED_TRACE(one.text);
        const Graph graph = graph_of(one, DType::float64);
        std::mt19937 random(11);
        EXPECT_EQ(difference(graph, feeds_of(one, DType::float64, random), random), "");
    }
}

// The adjoint of each of five inputs is an operation of its own, which runs a scan forward and one back.
TEST(GradientOfScans, AreSharedByAllInputs) {
    const auto cases = scan_cases();
    const auto one = std::ranges::find_if(cases, [](const Case& c) { return c.text.starts_with("y = state_space"); });
    ASSERT_NE(one, cases.end());
    const Graph graph = graph_of(*one, DType::float32);
    auto made = gradient(graph, graph.inputs);
    ASSERT_TRUE(made) << render(made.error());
    auto system = equations::lower(*made);
    ASSERT_TRUE(system) << render(system.error());
    auto count = [&] {
        std::set<int32_t> scans;
        for (const equations::Equation& equation : system->equations)
            if (!equation.dead && equation.scan >= 0) scans.insert(equation.scan);
        return scans.size();
    };
    EXPECT_EQ(count(), 7u);
    equations::merge_equal(*system);
    auto sound = equations::verify(*system);
    EXPECT_TRUE(sound) << render(sound.error());
    EXPECT_EQ(count(), 2u);
}

TEST(GradientOfScans, RunsCompiled) {
    for (const Case& one : scan_cases()) {
        SCOPED_TRACE(one.text);
        const Graph graph = graph_of(one, DType::float32);
        auto made = gradient(graph, float_inputs(graph));
        ASSERT_TRUE(made) << render(made.error());
        std::mt19937 random(5);
        expect_compiled(*made, with_adjoints(graph, *made, feeds_of(one, DType::float32, random), random));
    }
}

}  // namespace
}  // namespace heddle::gradient
