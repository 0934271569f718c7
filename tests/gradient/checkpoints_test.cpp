// Scans that keep some of their states: the gradient is the same, in fewer states.
#include <fmt/format.h>

#include "compiled.h"
#include "differences.h"
#include "target/target.h"

namespace heddle::gradient {
namespace {

const char* const operators = R"yaml(
decay:
  doc: One number that is carried along; results of steps and of the last one.
  inputs: {x: "$T[$n]", a: "$T[]"}
  index: "[]"
  outputs: {y: "$T[$n]", last: "$T[]"}
  body: |
    scan t < $n:
      s[t] = tanh(a[] * s[t - 1] + x[t]) from a[] * 0.5
      y[t] = s[t] * s[t - 1]
    last[] = s[$n - 1]
fisher:
  doc: Each place reads its neighbours at the step before. Only the last state is a result.
  inputs: {u: "$T[$m]", a: "$T[$m]", b: "$T[$n]"}
  index: "[]"
  outputs: {y: "$T[$m]"}
  body: |
    scan t < $n:
      let left[i < $m] = s[t - 1, i - 1] ?? 0
      s[t, i < $m] = s[t - 1, i] + a[i] * (left[i] - 2 * s[t - 1, i] + (s[t - 1, i + 1] ?? 0)) / 4
        + b[t] * s[t - 1, i] * (1 - s[t - 1, i]) from u[i]
    y[i] = s[$n - 1, i]
ring:
  doc: All places are read, and results are those of all steps, read behind the scan.
  inputs: {x: "$T[$n, $m]", w: "$T[$m]"}
  index: "[]"
  outputs: {y: "$T[$n, $m]"}
  body: |
    scan t < $n:
      s[t, j < $m] = sin(s[t - 1, (j + 1) % $m] * w[j] + s[t - 1, $m - 1 - j]) + x[t, j] * max(k < $m : s[t - 1, k])
        from w[j] * w[j]
    y[t, j] = exp(s[t, j]) * w[0]
several:
  doc: Several states, one of integers, of which some read others at their own step.
  inputs: {x: "$T[$b, $n]", w: "$T[]", v: "$T[3]"}
  index: "[$b]"
  outputs: {y: "$T[$b, $n]", z: "$T[$b]"}
  body: |
    scan t < $n:
      c[t] = (c[t - 1] + 1) % 3 from int64(0)
      p[t] = p[t - 1] * exp(w[]) + x[@b, t] * q[t - 1] / 4 * v[c[t]] from 1
      q[t] = exp(0 - p[t] * p[t]) + q[t - 1] * x[@b, $n - 1 - t] from w[]
      y[@b, t] = q[t] * p[t - 1] + x[@b, t]
    z[@b] = p[$n - 1] + q[$n - 1]
ended:
  doc: Steps of Newton, until they are small.
  inputs: {x: "$T[$m]"}
  index: "[$m]"
  outputs: {y: "$T[$m]"}
  body: |
    scan t < 11 until abs(r[t] - r[t - 1]) < 0.05:
      r[t] = (r[t - 1] + x[@m] / r[t - 1]) / 2 from 1
    y[@m] = r[10]
elman:
  inputs: {X: "$T[$steps, $batch, $in]", W: "$T[$hidden, ($in)]", R: "$T[($hidden), $hidden]"}
  index: "[$batch]"
  outputs: {Y: "$T[$batch, $hidden]"}
  body: |
    scan t < $steps:
      let outside[j < $hidden] = sum(i < $in : X[t, @batch, i] * W[j, i])
      let inside[j < $hidden] = sum(k < $hidden : h[t - 1, k] * R[j, k])
      h[t, j < $hidden] = tanh(outside[j] + inside[j]) from 0
    Y[@batch, j] = h[$steps - 1, j]
cells:
  doc: A scan of two axes, whose waves are steps.
  inputs: {x: "$T[$m, $n]"}
  index: "[]"
  outputs: {y: "$T[$m, $n]"}
  body: |
    scan i < $m, j < $n:
      s[i, j] = sin(s[i - 1, j] * s[i, j - 1] + x[i, j]) from 1
    y[i, j] = s[i, j]
)yaml";

const Library& scans() {
    static const Library library = library_with(operators);
    return library;
}

Graph graph_of(const Case& one, DType dtype, const Library& library = scans()) {
    std::vector<ProgramInput> inputs;
    for (const Given& given : one.inputs) {
        std::vector<Size> shape(given.shape.begin(), given.shape.end());
        inputs.push_back({given.name, {given.integers.empty() ? dtype : DType::int64, shape}});
    }
    auto graph = build_program(std::make_shared<SourceText>("case", one.text), library, inputs);
    EXPECT_TRUE(graph) << render(graph.error());
    return graph ? std::move(*graph) : Graph{};
}

std::vector<Case> cases_of(int64_t steps) {
    const int64_t n = steps;
    return {
        {"y, last = decay(x, a)", {{"x", {n}}, {"a", {}, 0.3, 0.9}}},
        {"y = fisher(u, a, b)", {{"u", {5}, 0.1, 0.9}, {"a", {5}, 0.1, 0.9}, {"b", {n}, 0.1, 0.5}}},
        {"y = ring(x, w)", {{"x", {n, 3}, 0.1, 0.8}, {"w", {3}, 0.4, 1.3}}},
        {"y, z = several(x, w, v)", {{"x", {2, n}}, {"w", {}, -0.8, -0.4}, {"v", {3}}}},
        {"y = ended(x)", {{"x", {4}, 0.5, 9}}},
        {"y = elman(x, w, r)", {{"x", {n, 2, 3}}, {"w", {4, 3}}, {"r", {4, 4}}}},
        {"y = cells(x)", {{"x", {n, 4}}}},
    };
}

bool has_checkpoints(const Graph& graph) {
    return std::ranges::any_of(graph.tensors, [](const Tensor& tensor) { return tensor.name.ends_with(".kept"); });
}

// What is wrong with a gradient by segments; empty if nothing is. `expected`: by all states.
std::string wrong_by_segments(const Graph& graph, int64_t every, const std::vector<TensorData>& feeds,
                              const std::vector<TensorData>& expected) {
    auto made = gradient(graph, float_inputs(graph), every_steps(every));
    if (!made) return render(made.error());
    if (auto sound = verify(*made); !sound) return render(sound.error()) + print(*made);
    const std::vector<TensorData> found = outputs_of(*made, feeds);
    for (size_t i = 0; i < expected.size(); ++i) {
        for (int64_t k = 0; k < expected[i].size(); ++k) {
            const double a = found[i].real_at(k), b = expected[i].real_at(k);
            if (!(std::abs(a - b) <= 1e-12 * (1 + std::abs(b))))
                return fmt::format("element {} of {}: {} instead of {}\n{}", k, i, a, b, print(*made));
        }
    }
    return "";
}

TEST(Checkpoints, GiveTheSameGradients) {
    for (int64_t steps : {0, 1, 2, 3, 4, 5, 8, 9, 10, 17}) {
        for (const Case& one : cases_of(steps)) {
            if (steps == 0 && one.text.starts_with("y = fisher")) continue;  // reads of no step
            SCOPED_TRACE(fmt::format("{} steps: {}", steps, one.text));
            const Graph graph = graph_of(one, DType::float64);
            std::mt19937 random(3);
            auto whole = gradient(graph, float_inputs(graph));
            ASSERT_TRUE(whole) << render(whole.error());
            const auto feeds = with_adjoints(graph, *whole, feeds_of(one, DType::float64, random), random);
            const auto expected = outputs_of(*whole, feeds);
            for (int64_t every : {0, 1, 2, 3, 4, 7})
                ASSERT_EQ(wrong_by_segments(graph, every, feeds, expected), "") << "every " << every;
        }
    }
}

// A scan of some states, numbers or arrays, over which a random expression leads to the next step, with results of
// steps, of the last one, and behind the scan.
class RandomScan {
public:
    explicit RandomScan(std::mt19937& random) : random_(random) {
        const int count = number(1, 3);
        for (int i = 0; i < count; ++i) is_array_.push_back(number(0, 2) > 0);
    }

    std::string text() {
        std::string states, results;
        for (size_t i = 0; i < is_array_.size(); ++i) {
            const std::string axis = is_array_[i] ? ", j < $m" : "";
            present_ = i;
            states += fmt::format("      s{}[t{}] = {} from {}\n", i, axis, expression(3, is_array_[i]),
                                  is_array_[i] ? "u[j] / 2" : "c[] / 2");
        }
        present_ = is_array_.size();
        states += fmt::format("      z[t, j] = {}\n", expression(2, true));
        for (size_t i = 0; i < is_array_.size(); ++i)
            results += fmt::format("{}s{}[$n - 1{}]", i ? " + " : "", i, is_array_[i] ? ", j" : "");
        return fmt::format(
            "random_scan:\n  inputs: {{x: \"$T[$n, $m]\", v: \"$T[$n]\", u: \"$T[$m]\", w: \"$T[$m, ($m)]\", c: "
            "\"$T[]\"}}\n"
            "  index: \"[]\"\n  outputs: {{z: \"$T[$n, $m]\", y: \"$T[$m]\", r: \"$T[$n]\"}}\n  body: |\n"
            "    scan t < $n:\n{}    y[j] = {} + 0 * u[j]\n    r[t] = {}\n",
            states, results,
            is_array_[0]   ? "sum(k < $m : s0[$n - 1 - t, k])"
            : number(0, 1) ? "s0[$n - 1 - t]"
                           : "sin(s0[t])");
    }

private:
    int number(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

    std::string state(bool in_array) {
        const auto i = static_cast<size_t>(number(0, static_cast<int>(is_array_.size()) - 1));
        const char* step = i < present_ && number(0, 1) ? "t" : "t - 1";
        if (!is_array_[i]) return fmt::format("s{}[{}]", i, step);
        switch (in_array ? number(0, 4) : number(3, 4)) {
        case 0: return fmt::format("s{}[{}, j]", i, step);
        case 1: return fmt::format("s{}[{}, (j + 1) % $m]", i, step);
        case 2: return fmt::format("(s{}[{}, j - 1] ?? 0.5)", i, step);
        case 3: return fmt::format("sum(k < $m : s{}[{}, k] * {})", i, step, in_array ? "w[j, k]" : "u[k]");
        default: return fmt::format("max(k < $m : s{}[{}, k] + u[k])", i, step);
        }
    }

    std::string input(bool in_array) {
        switch (in_array ? number(0, 5) : number(3, 5)) {
        case 0: return "x[t, j]";
        case 1: return "x[$n - 1 - t, $m - 1 - j]";
        case 2: return "exp(u[j])";
        case 3: return "v[t]";
        case 4: return "cos(c[])";
        default: return "(v[t + 1] ?? 0.25)";
        }
    }

    std::string expression(int depth, bool in_array) {
        if (depth == 0) return number(0, 2) ? state(in_array) : input(in_array);
        const std::string a = expression(depth - 1, in_array), b = expression(number(0, depth - 1), in_array);
        switch (number(0, 5)) {
        case 0: return fmt::format("sin({} + {})", a, b);
        case 1: return fmt::format("tanh({} - {})", a, b);
        case 2: return fmt::format("0.5 * {} * sin({})", a, b);
        case 3: return fmt::format("({} > 0.1 ? sin({}) : cos({}) * 0.7)", b, a, a);
        case 4: return fmt::format("(t % 3 == 1 ? 0.3 * {} : sin({}))", a, b);
        default: return fmt::format("cos({}) / 2", a);
        }
    }

    std::mt19937& random_;
    std::vector<bool> is_array_;
    size_t present_ = 0;  // states before it have a value at this step
};

TEST(Checkpoints, GiveTheSameGradientsOfRandomScans) {
    int taken = 0;
    for (unsigned seed = 0; seed < 120; ++seed) {
        std::mt19937 random(seed);
        const std::string text = RandomScan(random).text();
        SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text));
        const Library library = library_with(text);
        const int64_t steps = std::uniform_int_distribution<int64_t>(1, 13)(random);
        const Case one{"z, y, r = random_scan(x, v, u, w, c)",
                       {{"x", {steps, 3}}, {"v", {steps}}, {"u", {3}}, {"w", {3, 3}}, {"c", {}}}};
        const Graph graph = graph_of(one, DType::float64, library);
        std::mt19937 values(seed);
        auto whole = gradient(graph, graph.inputs);
        ASSERT_TRUE(whole) << render(whole.error());
        const auto feeds = with_adjoints(graph, *whole, feeds_of(one, DType::float64, values), values);
        const auto expected = outputs_of(*whole, feeds);
        for (int64_t every : {0, 2, 5}) {
            ASSERT_EQ(wrong_by_segments(graph, every, feeds, expected), "") << "every " << every;
            auto made = gradient(graph, graph.inputs, every_steps(every));
            taken += made && has_checkpoints(*made) ? 1 : 0;
        }
    }
    EXPECT_GT(taken, 200);
}

TEST(Checkpoints, AgreeWithDifferences) {
    for (const Case& one : cases_of(7)) {
        SCOPED_TRACE(one.text);
        const Graph graph = graph_of(one, DType::float64);
        std::mt19937 random(11);
        EXPECT_EQ(difference(graph, feeds_of(one, DType::float64, random), random), "");
    }
}

TEST(Checkpoints, RunCompiled) {
    std::vector<Case> cases = cases_of(9);
    cases.push_back({"y = fisher(u, a, b)", {{"u", {300}, 0.1, 0.9}, {"a", {300}, 0.1, 0.9}, {"b", {20}, 0.1, 0.5}}});
    cases.push_back({"y = elman(x, w, r)", {{"x", {20, 5, 7}}, {"w", {33, 7}}, {"r", {33, 33}}}});
    cases.push_back({"y, z, c = lstm(x, w, r)", {{"x", {10, 2, 4}}, {"w", {1, 20, 4}}, {"r", {1, 20, 5}}}});
    for (const Case& one : cases) {
        SCOPED_TRACE(one.text);
        const Graph graph = graph_of(one, DType::float32);
        auto made = value_and_gradient(graph, float_inputs(graph), graph.outputs, every_steps(0));
        ASSERT_TRUE(made) << render(made.error());
        EXPECT_TRUE(has_checkpoints(*made));
        std::mt19937 random(5);
        expect_compiled(*made, with_adjoints(graph, *made, feeds_of(one, DType::float32, random), random));
    }
}

// Of 400 states of 512 numbers some fifty are in memory at a time.
TEST(Checkpoints, TakeLessMemory) {
    const Graph graph = graph_of({"y = fisher(u, a, b)", {{"u", {512}}, {"a", {512}}, {"b", {400}}}}, DType::float32);
    auto bytes = [&](const StepsBetween& between) {
        auto made = value_and_gradient(graph, graph.inputs, graph.outputs, between);
        EXPECT_TRUE(made) << render(made.error());
        auto plan = plan::make_plan(*made, detect_host(), {});
        EXPECT_TRUE(plan) << render(plan.error());
        return plan->workspace_bytes + plan->scratch_bytes;
    };
    EXPECT_GT(bytes({}), 400 * 512 * 4);
    EXPECT_LT(bytes(every_steps(0)), 400 * 512 * 4 / 5);
}

Graph named_fisher() {
    const Size places = named_size("places", 16), steps = named_size("steps", 100);
    std::vector<ProgramInput> inputs = {
        {"u", {DType::float32, {places}}}, {"a", {DType::float32, {places}}}, {"b", {DType::float32, {steps}}}};
    auto graph = build_program(std::make_shared<SourceText>("case", "y = fisher(u, a, b)"), scans(), inputs);
    EXPECT_TRUE(graph) << render(graph.error());
    graph->dimension_names = {{"places", 16}, {"steps", 100}};
    return std::move(*graph);
}

TEST(Checkpoints, AreInTheTapeAsAnExpressionOfSizes) {
    const Graph graph = named_fisher();
    auto tape = [&](TapePolicy policy) {
        auto made = split(graph, {graph.inputs, {}, std::move(policy)});
        EXPECT_TRUE(made) << render(made.error());
        for (const Graph* part : {&made->forward, &made->reverse}) {
            auto sound = verify(*part);
            EXPECT_TRUE(sound) << render(sound.error());
        }
        return made->tape;
    };
    const TapeLayout chosen = tape({.every = 0});
    ASSERT_EQ(chosen.entries.size(), 1u);
    EXPECT_EQ(chosen.bytes_text(), "((4 * ((steps + 9) // 10)) * places) + (4 * places)");
    EXPECT_EQ(chosen.entries[0].bytes, 11 * 16 * 4);
    EXPECT_NE(chosen.entries[0].reason.find("'s' before each step that 10 divides"), std::string::npos);
    EXPECT_EQ(tape({.every = 25}).bytes_text(), "((4 * ((steps + 24) // 25)) * places) + (4 * places)");
    EXPECT_EQ(tape({}).bytes, 0);
    EXPECT_EQ(tape({.kind = TapePolicy::Kind::recompute_all, .every = 0}).bytes, 0);
    // All states are 6400 bytes.
    EXPECT_EQ(tape({.kind = TapePolicy::Kind::budget, .bytes = 6400}).bytes, 0);
    EXPECT_EQ(tape({.kind = TapePolicy::Kind::budget, .bytes = 2000}).bytes, 11 * 16 * 4);
    EXPECT_EQ(tape({.kind = TapePolicy::Kind::budget, .bytes = 100}).bytes, 0);  // worked out again
}

// A result may pass on what any step has, but not multiply it.
TEST(Checkpoints, AreNotTakenOfWhatReadsOtherSteps) {
    const Library library = library_with(R"yaml(
squares:
  inputs: {x: "$T[$n]"}
  index: "[]"
  outputs: {y: "$T[$n]"}
  body: |
    scan t < $n:
      s[t] = sin(s[t - 1] + x[t]) from 1
    y[t] = s[t] * s[$n - 1 - t]
)yaml");
    const Graph graph = graph_of({"y = squares(x)", {{"x", {9}}}}, DType::float64, library);
    auto whole = gradient(graph, graph.inputs), made = gradient(graph, graph.inputs, every_steps(3));
    ASSERT_TRUE(whole) << render(whole.error());
    ASSERT_TRUE(made) << render(made.error());
    EXPECT_EQ(print(*whole), print(*made));
}

TEST(Checkpoints, AreTakenWhereStatesAreNeeded) {
    for (const Case& one : cases_of(9)) {
        auto made =
            gradient(graph_of(one, DType::float64), float_inputs(graph_of(one, DType::float64)), every_steps(3));
        ASSERT_TRUE(made) << render(made.error());
        EXPECT_TRUE(has_checkpoints(*made)) << one.text << print(*made);
    }
    const Graph linear = graph_of({"y = cumsum(x, axis: 0)", {{"x", {9}}}}, DType::float64);
    auto made = gradient(linear, linear.inputs, every_steps(3));
    ASSERT_TRUE(made) << render(made.error());
    EXPECT_FALSE(has_checkpoints(*made)) << print(*made);
}

}  // namespace
}  // namespace heddle::gradient
