// Gradients of reductions that leave terms out, perhaps all of them; of what is only read where a condition holds.
#include "compiled.h"
#include "differences.h"

namespace heddle::gradient {
namespace {

const char* const operators = R"yaml(
ends:
  doc: The greatest of the first elements of a row, and the least of the others; either may have none.
  inputs: {x: "$T[$r, $n]", first: "int64[$r]"}
  index: "[$r]"
  outputs: {y: "$T"}
  body: |
    let most = max(k < $n if k < first : x[@r, k])
    let least = min(k < $n if k >= first : x[@r, k] * x[@r, k])
    y = max(most, -5) * 2 + min(least, 5)
beside:
  doc: The greatest neighbour on the right, which the last has none of.
  inputs: {x: "$T[$n]"}
  index: "[$n]"
  outputs: {y: "$T"}
  body: "y = max(max(a < 2 if @n + a + 1 < $n : x[@n + a + 1]), -5)"
entangled:
  doc: i falls into two digits for the index. One has its value from the last coordinate, and that holds the other one.
  inputs: {x: "$T[$r, $c, $n]", f: "int64[$m]"}
  index: "[i = $n]"
  outputs: {y: "$T"}
  body: "y = sum(a < 3 : x[@i + a - 1, clamp(f[@i // 4], 0, $c - 1), $n - 1 - @i] ?? 0)"
chosen:
  doc: The filter reads inside only where k is, and both operands of the maximum ask for it.
  inputs: {x: "$T[$r, $c]"}
  index: "[]"
  outputs: {y: "$T[]"}
  body: "y = sum(k < $r if x[k - k % 3, 0] < 100 : max(x[$r - 1 - k, k], x[k, k]))"
strided:
  doc: The adjoint of x works the array out at the point that it solves for, also where there is none of that number.
  inputs: {x: "$T[$r, $c]", z: "$T[$r, $c]"}
  index: "[i = $r]"
  outputs: {y: "$T[$r, $r]"}
  body: |
    let most[j < $r + 2] = max(k < $c : z[1, $c - 1 - j] * z[@i, k])
    y[@i, j] = most[@i] * exp(max([x[j, 3 * @i + d] for d < 2]))
nested:
  doc: An array that reads another one, and an index from data that is right for the forward points alone.
  inputs: {x: "$T[$n]", z: "$T[$m, $n]", f: "int64[$m]"}
  index: "[i = $m]"
  outputs: {y: "$T"}
  body: |
    let one[j < $n] = tanh(z[@i, j]) * z[f[@i], j]
    let two[j < $n] = one[j] + sum(k < $n : one[k])
    y = exp(two[0] * two[f[@i]]) * (x[4 * @i - 3] ?? 1)
diagonal:
  doc: The array is read where a condition says, the adjoint's points are more; what is chosen leaves its loops.
  inputs: {x: "$T[$r, $c, $n]", f: "int64[$r]"}
  index: "[i = $c]"
  outputs: {y: "$T"}
  body: |
    let one[j < $c] = x[2, @i, @i]
    y = max(k < $r : sum(m < $r from f[k] to f[k] : one[@i]))
waves:
  doc: Which operand is less is asked at points of x, most of which no cell reads.
  inputs: {x: "$T[$r, $c, $n]", z: "$T[$m, $c, $n]"}
  index: "[]"
  outputs: {y: "$T[]"}
  body: |
    scan t < $r + 3, u < 2:
      h[t, u, j < 4] = tanh(h[t - 1, u - 1, j] + (t < 3 ? min(x[$r - 1 - u, u, u], z[u, u, $n - 1 - u]) : 1)) from z[0, 1, j]
    y = h[$r + 2, 1, 3]
places:
  doc: Of a state's places one is changed, and one is read at each point; both move with the steps or the point.
  inputs: {x: "$T[]"}
  index: "[i = 5, k = 2]"
  outputs: {y: "$T[5, 2, 2]"}
  body: |
    scan t < 2:
      let both = sum(a < 2 : g[t - 1, @i, @k] * h[t - 1, t, 0])
      g[t, p < 80, j < 2] = p == 1 ? 1 : g[t - 1, p, j] from 1
      h[t, p < 80, j < 1] = p == argmax(a < 4 : h[t - 1, @i, 0]) && g[t, 79 - @i, 1 - @k] < 1 ? both : h[t - 1, p, j] from x[]
      y[@i, @k, t] = (@i == 4 ? h[t - 1, @i, 0] : 1)
)yaml";

// The interpreter asks for no element that a condition excludes; compiled code works whole arrays out.
void expect_gradient_compiled(const Graph& graph, const std::vector<TensorData>& feeds, std::mt19937& random) {
    auto made = gradient(graph, float_inputs(graph));
    ASSERT_TRUE(made) << render(made.error());
    expect_compiled(*made, with_adjoints(graph, *made, feeds, random));
}

TEST(GradientOfFilters, AgreesWithDifferences) {
    static const Library library = library_with(operators);
    const std::vector<Case> cases = {
        {"y = ends(x, f)", {{"x", {4, 3}}, {"f", {4}, 0, 0, {0, 1, 3, 2}}}},
        {"y = ends(x, f)", {{"x", {1, 1}}, {"f", {1}, 0, 0, {0}}}},
        {"y = ends(x, f)", {{"x", {2, 0}}, {"f", {2}, 0, 0, {0, 0}}}},
        {"y = beside(x)", {{"x", {5}}}},
        {"y = beside(x)", {{"x", {1}}}},
        {"y = entangled(x, f)", {{"x", {1, 3, 20}}, {"f", {5}, 0, 0, {0, 2, 1, 1, 0}}}},
        {"y = chosen(x)", {{"x", {4, 9}}}},
        {"y = entangled(x, f)", {{"x", {4, 2, 8}}, {"f", {2}, 0, 0, {1, 0}}}},
        {"y = strided(x, z)", {{"x", {3, 9}}, {"z", {3, 9}}}},
        {"y = nested(x, z, f)", {{"x", {19}}, {"z", {3, 19}}, {"f", {3}, 0, 0, {2, 0, 1}}}},
        {"y = places(x)", {{"x", {}}}},
        {"y = waves(x, z)", {{"x", {10, 3, 7}}, {"z", {4, 3, 7}}}},
        {"y = diagonal(x, f)", {{"x", {3, 13, 17}}, {"f", {3}, 0, 0, {2, 0, 1}}}},
    };
    for (const Case& one : cases) {
        SCOPED_TRACE(one.text);
        std::vector<ProgramInput> inputs;
        for (const Given& given : one.inputs) {
            const DType dtype = given.integers.empty() ? DType::float64 : DType::int64;
            inputs.push_back({given.name, {dtype, {given.shape.begin(), given.shape.end()}}});
        }
        const auto graph = build_program(std::make_shared<SourceText>("case", one.text), library, inputs);
        ASSERT_TRUE(graph) << render(graph.error());
        std::mt19937 random(11);
        const std::vector<TensorData> feeds = feeds_of(one, DType::float64, random);
        EXPECT_EQ(difference(*graph, feeds, random), "");
        expect_gradient_compiled(*graph, feeds, random);
    }
}

}  // namespace
}  // namespace heddle::gradient
