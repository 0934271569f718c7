// Declared axes (`reduces`): parts of them give results of the output's own type, joined by what the template names.
#include <cmath>
#include <random>

#include "sharded.h"

namespace heddle::sharding {
namespace {

constexpr DType f32 = DType::float32, f64 = DType::float64;

const char* const operators = R"yaml(
log_add_exp:
  inputs: {a: "$T[$shape...]", b: "$T[$shape...]"}
  index: "[$shape...]"
  outputs: {y: "$T"}
  body: |
    let m = max(a, b)
    y = m + log(exp(a - m) + exp(b - m))
log_sum_exp:
  params: {axis: "axis($x)"}
  inputs: {x: "$T[$outer...{$axis}, $n, $inner...]"}
  index: "[$outer..., $inner...]"
  outputs: {y: "$T"}
  reduces: {n: log_add_exp}
  body: |
    let m = max(k < $n : x[@outer..., k, @inner...])
    y = m + log(sum(k < $n : exp(x[@outer..., k, @inner...] - m)))
square:
  inputs: {x: "$T[$shape...]"}
  index: "[$shape...]"
  outputs: {y: "$T"}
  body: "y = x * x"
root_of_sum:
  inputs: {a: "$T[$shape...]", b: "$T[$shape...]"}
  index: "[$shape...]"
  outputs: {y: "$T"}
  body: "y = sqrt(a + b)"
hypotenuse:
  inputs: {a: "$T[$shape...]", b: "$T[$shape...]"}
  outputs: {y: "$T[$shape...]"}
  graph: "y = root_of_sum(square(a), square(b))"
norm:
  doc: Over two axes, each by itself.
  inputs: {x: "$T[$rows, $a, $b]"}
  index: "[$rows]"
  outputs: {y: "$T"}
  reduces: {a: hypotenuse, b: hypotenuse}
  body: "y = sqrt(sum(i < $a, j < $b : x[@rows, i, j] * x[@rows, i, j]))"
product:
  inputs: {X: "$T[$rows, $inner]", W: "$T[$inner, $cols]"}
  index: "[$rows, $cols]"
  outputs: {y: "$T"}
  reduces: {inner: sum}
  body: "y = sum(k < $inner : X[@rows, k] * W[k, @cols])"
best_of_sums:
  inputs: {x: "$T[$rows, $n, $m]"}
  index: "[$rows]"
  outputs: {least: "$T[$rows]", some: "$T[$rows]"}
  reduces: {n: min}
  body: |
    least[@rows] = min(k < $n : sum(j < $m : x[@rows, k, j]))
    some[@rows] = min(k < $n : x[@rows, k, 0])
tests:
  inputs: {x: "bool[$rows, $n]"}
  index: "[$rows]"
  outputs: {y: bool}
  reduces: {n: all}
  body: "y = all(k < $n : x[@rows, k])"
outside:
  inputs:
    X: {shape: "[$batch..., $row, $inner]", dtype: "$T", ipf: "[..., 1, 0] :> [..., 1, $inner]"}
    W: {shape: "[$inner, $col]", dtype: "$T", ipf: "[*, @col]"}
  index: "[$batch..., $row, $col]"
  outputs: {y: {dtype: "$T"}}
  reduces: {inner: sum}
)yaml";

void expect_near(const Graph& graph, const Sharded& sharding, std::mt19937& random) {
    auto sound = verify(sharding.graph);
    ASSERT_TRUE(sound) << render(sound.error()) << print(sharding.graph);
    std::vector<TensorData> feeds = random_feeds(graph, random, 2, 8);
    auto whole = evaluate_graph(graph, feeds, Precision::body);
    auto parts = evaluate_graph(sharding.graph, feeds, Precision::body);
    ASSERT_TRUE(whole && parts) << (parts ? "" : render(parts.error())) << print(sharding.graph);
    for (TensorId id : graph.outputs) {
        const TensorData &expected = (*whole)[static_cast<size_t>(id)], &found = (*parts)[static_cast<size_t>(id)];
        for (int64_t i = 0; i < expected.size(); ++i)
            ASSERT_NEAR(found.real_at(i), expected.real_at(i), 1e-13 * (1 + std::abs(expected.real_at(i))))
                << i << print(sharding.graph);
    }
}

TEST(ShardFold, AUsersFoldJoinsPartsToTheWhole) {
    std::mt19937 random(1);
    for (int n = 0; n < 40; ++n) {
        std::vector<int64_t> shape;
        for (int d = 0; d < 3; ++d) shape.push_back(1 + static_cast<int64_t>(random() % 6));
        int64_t axis = static_cast<int64_t>(random() % 3);
        Graph graph = graph_of(operators, "log_sum_exp", {{f64, shape}}, {{"axis", StaticValue::of(axis)}});
        std::vector<Axis> axes = axes_of(graph, graph.operations[0]);
        ASSERT_EQ(axes.size(), 3u);
        EXPECT_EQ(axes[2].name, "n");
        ASSERT_TRUE(axes[2].fold);
        EXPECT_TRUE(axes[2].reductions.empty());
        auto parts = static_cast<int64_t>(1 + random() % 7);
        expect_near(graph, sharded(graph, {{"n", parts}}), random);
        expect_near(graph, sharded(graph, {{"n", parts}, {axes[0].name, 2}, {axes[1].name, 3}}), random);
        if (HasFatalFailure()) return;
    }
}

TEST(ShardFold, PartsAreOfTheOutputsTypeAndReadTheirPart) {
    Graph graph = graph_of(operators, "log_sum_exp", {{f32, {4, 6}}}, {{"axis", StaticValue::of(int64_t{1})}});
    Sharded sharding = sharded(graph, {{"n", 3}});
    ASSERT_EQ(sharding.applications.size(), 3u);
    for (const Application& application : sharding.applications) {
        auto first = static_cast<int64_t>(application.shard) * 2;
        EXPECT_EQ(application.part, "log_add_exp over n");
        EXPECT_EQ(application.inputs[0].box, (Box{{0, first}, {4, first + 2}}));
        EXPECT_EQ(sharding.graph.tensor(application.outputs[0].tensor).type, graph.tensor(graph.outputs[0]).type);
    }
    ASSERT_EQ(sharding.combinations.size(), 1u);
    EXPECT_EQ(sharding.combinations[0].combiner, "log_add_exp");
    EXPECT_EQ(sharding.combinations[0].partial.size(), 3u);
    EXPECT_EQ(sharding.combinations[0].result, graph.outputs[0]);
    // Without the declaration the maximum and the sum are combined one after the other.
    std::string derived = operators;
    derived.erase(derived.find("  reduces: {n: log_add_exp}\n"), 28);
    Graph plain = graph_of(derived, "log_sum_exp", {{f32, {4, 6}}}, {{"axis", StaticValue::of(int64_t{1})}});
    EXPECT_EQ(sharded(plain, {{"k", 3}}).combinations.size(), 2u);
}

TEST(ShardFold, BuiltInCombinersAndSeveralAxes) {
    std::mt19937 random(2);
    Graph norm = graph_of(operators, "norm", {{f64, {3, 4, 5}}});
    Graph product = graph_of(operators, "product", {{f64, {3, 7}}, {f64, {7, 4}}});
    Graph best = graph_of(operators, "best_of_sums", {{f64, {3, 4, 5}}});
    Graph tests = graph_of(operators, "tests", {{DType::boolean, {6, 9}}});
    for (int64_t parts : {1, 2, 3, 9}) {
        expect_near(norm, sharded(norm, {{"a", parts}}), random);
        expect_near(norm, sharded(norm, {{"a", 2}, {"b", parts}}), random);
        expect_near(norm, sharded(norm, {{"rows", parts}, {"a", parts}, {"b", 2}}), random);
        expect_near(product, sharded(product, {{"inner", parts}, {"rows", 2}}), random);
        expect_near(best, sharded(best, {{"n", parts}}), random);
        expect_near(tests, sharded(tests, {{"n", parts}, {"rows", parts}}), random);
        if (HasFatalFailure()) return;
    }
    // What is only stored: parts are of the output's own type.
    for (DType dtype : {DType::float16, DType::float8e5m2, DType::uint4}) {
        Graph narrow = graph_of(operators, "product", {{dtype, {3, 8}}, {dtype, {8, 4}}});
        Sharded sharding = sharded(narrow, {{"inner", 2}});
        EXPECT_TRUE(verify(sharding.graph));
        EXPECT_EQ(sharding.graph.tensor(sharding.combinations[0].partial[1]).type.dtype, dtype);
    }
}

TEST(ShardFold, AnExternalKernelIsCutAlongItsDeclaredAxis) {
    Graph graph = graph_of(operators, "outside", {{f32, {2, 4, 6}}, {f32, {6, 5}}});
    std::vector<Axis> axes = axes_of(graph, graph.operations[0]);
    ASSERT_EQ(axes.size(), 4u);
    EXPECT_EQ(axes[3].name, "inner");
    EXPECT_EQ(axes[3].inputs[0], (std::vector<Movement>{{2, 1, 1}}));
    Sharded sharding = sharded(graph, {{"row", 2}, {"inner", 3}});
    ASSERT_EQ(sharding.applications.size(), 6u);
    const Application& last = sharding.applications[5];
    EXPECT_EQ(last.inputs[0].box, (Box{{0, 2, 4}, {2, 4, 6}}));
    EXPECT_EQ(last.inputs[1].box, (Box{{4, 0}, {6, 5}}));
    EXPECT_EQ(last.outputs[0].box, (Box{{0, 2, 0}, {2, 4, 5}}));
    EXPECT_NE(last.outputs[0].tensor, graph.outputs[0]);
    EXPECT_EQ(sharding.combinations[0].combiner, "sum");
    EXPECT_TRUE(verify(sharding.graph));
    // The part's own projections: of its two columns it reads all.
    const Operation& part = sharding.graph.operations[static_cast<size_t>(last.operation)];
    EXPECT_EQ(part.input_projections[0].shape[2], 2);
}

TEST(ShardFoldErrors, ADeclaredAxisAndADerivedReductionAreNotCutTogether) {
    Graph best = graph_of(operators, "best_of_sums", {{f64, {3, 4, 5}}});
    std::vector<Axis> axes = axes_of(best, best.operations[0]);
    auto boxes = boxes_by(best.operations[0], axes, {{"n", 2}, {"j", 2}});
    ASSERT_TRUE(boxes);
    auto made = shard(best, OperationId(0), *boxes);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error()[0].code, "sharding.fold");
    std::mt19937 random(3);
    expect_near(best, sharded(best, {{"j", 2}, {"rows", 2}}), random);
}

}  // namespace
}  // namespace heddle::sharding
