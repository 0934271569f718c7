// Gradient rules of templates (`grad`): used in place of the derived ones, and held against differences.
#include "differences.h"
#include "gradient/check_rule.h"
#include "symbolic/session.h"

namespace heddle::gradient {
namespace {

const char* const operators = R"yaml(
soft:
  doc: A softmax of rows, whose rule uses the result.
  params: {scale: "float = 1"}
  inputs: {x: "$T[$rows, $n]"}
  index: "[$rows]"
  outputs: {y: "$T[$rows, $n]"}
  body: |
    let m = max(k < $n : x[@rows, k])
    let s = sum(k < $n : exp($scale * (x[@rows, k] - m)))
    y[@rows, j] = exp($scale * (x[@rows, j] - m)) / s
  grad: |
    g = mul(d_y, y)
    d_x = mul($scale, sub(g, mul(y, reduce_sum(g, axes: [1]))))
soft_wrong:
  doc: The same with a wrong rule.
  inputs: {x: "$T[$rows, $n]"}
  index: "[$rows]"
  outputs: {y: "$T[$rows, $n]"}
  body: |
    let m = max(k < $n : x[@rows, k])
    let s = sum(k < $n : exp(x[@rows, k] - m))
    y[@rows, j] = exp(x[@rows, j] - m) / s
  grad: "d_x = mul(d_y, y)"
soft_integers:
  inputs: {x: "$T[$n]"}
  index: "[$n]"
  outputs: {y: "$T"}
  body: "y = x * x"
  grad: "d_x = mul(2, mul(x, d_y))"
rounded:
  doc: Rounding that lets adjoints pass, as in training with quantised values.
  inputs: {x: "$T[$shape...]"}
  index: "[$shape...]"
  outputs: {y: "$T"}
  body: "y = round(x)"
  grad: "d_x = d_y"
parts:
  doc: Two results; an optional input; an integer one without a gradient.
  inputs: {x: "$T[$n]", ids: "int64[$n]", w: "$T[$n]?"}
  index: "[$n]"
  outputs: {y: "$T[$n]", z: "$T[$n]", best: "int64[]"}
  body: |
    y[@n] = has(w) ? x[ids[@n]] * w[@n] : x[ids[@n]]
    z[@n] = exp(x[@n])
    best[] = argmax(k < $n : x[k])
  grad: |
    g = has(w) ? mul(d_y, w) : d_y
    d_w = mul(d_y, gather(x, ids))
    zeros = mul(x, 0)
    d_x = add2(scatter_elements_add(zeros, ids, g), mul(d_z, z))
outside:
  doc: A kernel elsewhere, with a rule.
  inputs: {X: {shape: "[$m, $k]", dtype: "$T", ipf: "[@m, *]"}, W: {shape: "[$k, $n]", dtype: "$T", ipf: "[*, @n]"}}
  index: "[$m, $n]"
  outputs: {y: {dtype: "$T"}}
  grad: |
    d_X = numpy_matmul(d_y, transpose(W))
    d_W = numpy_matmul(transpose(X), d_y)
)yaml";

const Library& rules() {
    static const Library library = library_with(operators);
    return library;
}

Graph graph_of(const std::string& text, const std::vector<ProgramInput>& inputs) {
    auto graph = build_program(std::make_shared<SourceText>("case", text), rules(), inputs);
    EXPECT_TRUE(graph) << (graph ? "" : render(graph.error()));
    return graph ? std::move(*graph) : Graph{};
}

constexpr DType f64 = DType::float64;

std::string difference_of(const Graph& graph) {
    std::mt19937 random(3);
    std::vector<TensorData> feeds;
    for (TensorId id : graph.inputs) {
        const TensorType& type = graph.tensor(id).type;
        if (is_float(type.dtype)) {
            feeds.push_back(spread(random, type.dtype, type.extents(), -1, 1));
            continue;
        }
        TensorData& ids = feeds.emplace_back(type.dtype, type.extents());
        for (int64_t i = 0; i < ids.size(); ++i) ids.set_integer(i, (i * 7 + 2) % ids.shape().back() / 2);
    }
    return difference(graph, feeds, random);
}

// The operators of the operations that a gradient is made of.
std::vector<std::string> operators_of(const Graph& graph) {
    std::vector<std::string> names;
    for (const Operation& operation : graph.operations) names.push_back(operation.operator_name);
    return names;
}

TEST(GradientRule, AgreesWithDifferences) {
    Graph soft = graph_of("y = soft(x, scale: 0.7)", {{"x", {f64, {3, 5}}}});
    EXPECT_EQ(difference_of(soft), "");
    EXPECT_EQ(difference_of(graph_of("y = tanh(soft(exp(x)))", {{"x", {f64, {3, 5}}}})), "");
    ProgramInput x{"x", {f64, {6}}}, ids{"ids", {DType::int64, {6}}}, w{"w", {f64, {6}}};
    EXPECT_EQ(difference_of(graph_of("y, z = parts(x, ids, w)", {x, ids, w})), "");
    EXPECT_EQ(difference_of(graph_of("y, z = parts(x, ids)", {x, ids})), "");
    // Of two results one reaches the output.
    EXPECT_EQ(difference_of(graph_of("y, z = parts(x, ids, w); u = mul(z, w)", {x, ids, w})), "");
}

TEST(GradientRule, IsUsedInPlaceOfTheDerivedOne) {
    Graph soft = graph_of("y = soft(x)", {{"x", {f64, {3, 5}}}});
    auto made = gradient(soft, soft.inputs);
    ASSERT_TRUE(made) << render(made.error());
    EXPECT_EQ(operators_of(*made), (std::vector<std::string>{"soft", "mul", "reduce_sum", "mul", "sub", "mul"}));
    EXPECT_EQ(made->tensor(made->outputs[0]).name, "d_x");
    // The derivative of rounding is zero; the rule says that adjoints pass.
    Graph rounded = graph_of("y = rounded(x)", {{"x", {f64, {4}}}});
    auto passed = gradient(rounded, rounded.inputs);
    ASSERT_TRUE(passed) << render(passed.error());
    auto sound = verify(*passed);
    ASSERT_TRUE(sound) << render(sound.error());
    std::mt19937 random(1);
    TensorData adjoint = spread(random, f64, {4}, -1, 1);
    auto values = evaluate_graph(*passed, {TensorData(f64, {4}), adjoint}, Precision::body);
    ASSERT_TRUE(values);
    for (int64_t i = 0; i < 4; ++i)
        EXPECT_EQ((*values)[static_cast<size_t>(passed->outputs[0])].real_at(i), adjoint.real_at(i));
}

// Adjoints of what is not batched are sums over the batch; what a rule says beside derivatives stays.
TEST(GradientRule, IsBatched) {
    ProgramInput x{"x", {f64, {6}}}, ids{"ids", {DType::int64, {6}}}, w{"w", {f64, {6}}};
    const Graph parts = graph_of("y, z = parts(x, ids, w)", {x, ids, w});
    for (const std::vector<TensorId>& wanted :
         std::vector<std::vector<TensorId>>{{parts.inputs[0]}, {parts.inputs[2]}, parts.inputs}) {
        auto made = batched(parts, wanted, 3);
        ASSERT_TRUE(made) << render(made.error());
        ASSERT_TRUE(made->operations[0].gradient);
        EXPECT_EQ(difference_of(*made), "");
    }
    const Graph rounded = graph_of("y = rounded(x)", {{"x", {f64, {4}}}});
    auto made = batched(rounded, rounded.inputs, 3);
    ASSERT_TRUE(made);
    auto passed = tangents(*made, made->inputs);
    ASSERT_TRUE(passed) << render(passed.error());
    std::mt19937 random(1);
    const TensorData tangent = spread(random, f64, {3, 4}, -1, 1);
    const auto found = outputs_of(*passed, {TensorData(f64, {3, 4}), tangent});
    for (int64_t i = 0; i < 12; ++i) EXPECT_EQ(found[0].real_at(i), tangent.real_at(i));
}

TEST(GradientRule, AWrongOneIsNoticedByDifferences) {
    EXPECT_NE(difference_of(graph_of("y = soft_wrong(x)", {{"x", {f64, {3, 5}}}})), "");
}

TEST(CompileJobs23, ARuleIsComparedWithItsBody) {
    EXPECT_FALSE(rule_difference(graph_of("y = soft(x)", {{"x", {f64, {3, 5}}}})));
    EXPECT_TRUE(rule_difference(graph_of("y = soft_wrong(x)", {{"x", {f64, {3, 5}}}})));
    const auto meant = rule_difference(graph_of("y = rounded(x)", {{"x", {DType::float32, {4}}}}));
    ASSERT_TRUE(meant);
    EXPECT_EQ(meant->input, "x");
    EXPECT_EQ(meant->by_body, 0);
    const Library endless = library_with(R"yaml(
endless: {inputs: {x: "$T[]"}, index: "[]", outputs: {y: "$T"}, body: "y[] = sum(i < 1000000000000 : sin(x[] * i))", grad: "d_x = d_y"}
)yaml");
    auto much = build_program(std::make_shared<SourceText>("case", "y = endless(x)"), endless, {{"x", {f64, {}}}});
    ASSERT_TRUE(much) << render(much.error());
    EXPECT_FALSE(rule_difference(*much));
    // Of an operation without a body nothing is known.
    EXPECT_FALSE(rule_difference(graph_of("y = outside(X, W)", {{"X", {f64, {3, 4}}}, {"W", {f64, {4, 5}}}})));
}

TEST(GradientRule, IsLeftOutWhereNothingIsAFloat) {
    Graph integers = graph_of("y = soft_integers(x)", {{"x", {DType::int32, {4}}}});
    ASSERT_EQ(integers.operations.size(), 1u);
    EXPECT_FALSE(integers.operations[0].gradient);
    EXPECT_TRUE(graph_of("y = soft_integers(x)", {{"x", {f64, {4}}}}).operations[0].gradient);
}

TEST(GradientRule, GivesKernelsElsewhereAGradient) {
    Graph graph = graph_of("y = outside(X, W)", {{"X", {f64, {3, 4}}}, {"W", {f64, {4, 5}}}});
    auto made = gradient(graph, graph.inputs);
    ASSERT_TRUE(made) << render(made.error());
    for (const Operation& operation : made->operations) EXPECT_TRUE(operation.body);
    // As the operator with a body has it.
    Graph other = graph_of("y = numpy_matmul(X, W)", {{"X", {f64, {3, 4}}}, {"W", {f64, {4, 5}}}});
    auto derived = gradient(other, other.inputs);
    ASSERT_TRUE(derived);
    std::mt19937 random(2);
    std::vector<TensorData> feeds{spread(random, f64, {3, 4}, -1, 1), spread(random, f64, {4, 5}, -1, 1),
                                  spread(random, f64, {3, 5}, -1, 1)};
    auto found = outputs_of(*made, feeds), expected = outputs_of(*derived, feeds);
    ASSERT_EQ(found.size(), 2u);
    for (size_t n = 0; n < 2; ++n)
        for (int64_t i = 0; i < expected[n].size(); ++i)
            EXPECT_NEAR(found[n].real_at(i), expected[n].real_at(i), 1e-14);
}

}  // namespace
}  // namespace heddle::gradient
