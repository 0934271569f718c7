// What derived bodies look like, and what has no gradient.
#include <array>

#include "differences.h"
#include "gradient/derivatives.h"
#include "helpers/codes.h"

namespace heddle::gradient {
namespace {

// The last equation of the adjoint of input number `wanted`.
std::string equation(const Case& one, size_t wanted = 0) {
    const Graph graph = program(one, DType::float64);
    auto made = gradient(graph, {graph.inputs[wanted]});
    if (!made) return render(made.error());
    const Operation& operation = made->operations.back();
    std::vector<std::string> inputs, outputs;
    for (TensorId id : operation.inputs) inputs.push_back(made->tensor(id).name);
    for (TensorId id : operation.outputs) outputs.push_back(made->tensor(id).name);
    std::string text = print(*operation.body, inputs, outputs);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text.substr(text.rfind('\n') + 1);
}

TEST(GradientForm, AffineReadsGather) {
    EXPECT_EQ(equation({"y = transpose(x)", {{"x", {2, 3}}}}), "for @p0 < 2, @p1 < 3: d_x[@p0, @p1] = d_y[@p1, @p0]");
    EXPECT_EQ(equation({"y = numpy_matmul(a, b)", {{"a", {2, 3}}, {"b", {3, 5}}}}, 1),
              "for @p0 < 3, @p1 < 5: d_b[@p0, @p1] = sum(row0 < 2 : d_y[row0, @p1] * a[row0, @p0])");
    EXPECT_EQ(equation({"y = reshape_to(x, shape: [4, 6])", {{"x", {2, 3, 4}}}}),
              "for @p0 < 2, @p1 < 3, @p2 < 4: d_x[@p0, @p1, @p2] = "
              "d_y[(@p0 * 12 + @p1 * 4 + @p2) // 6, (@p0 * 12 + @p1 * 4 + @p2) % 6]");
    EXPECT_EQ(equation({"y = tile(x, repeats: [3])", {{"x", {4}}}}),
              "for @p0 < 4: d_x[@p0] = sum(out0 < 3 : d_y[@p0 + out0 * 4])");
    EXPECT_EQ(equation({"y = slice(x, starts: [1], ends: [9], steps: [2])", {{"x", {10}}}}),
              "for @p0 < 10: d_x[@p0] = (@p0 - 1) % 2 == 0 && (@p0 - 1) // 2 >= 0 && (@p0 - 1) // 2 < 4 "
              "? d_y[(@p0 - 1) // 2] : float64(0.0)");
}

TEST(GradientForm, AStridedWindowIsSolvedForTheLargerExtent) {
    EXPECT_EQ(equation({"y = conv(X, W, strides: [2])", {{"X", {1, 1, 19}}, {"W", {1, 1, 3}}}}),
              "for @p0 < 1, @p1 < 1, @p2 < 19: d_X[@p0, @p1, @p2] = sum(k0 < 3 if (@p2 - k0) % 2 == 0 : "
              "(d_y[@p0, 0, (@p2 - k0) // 2] ?? float64(0.0)) * W[0, 0, k0])");
}

// Outside of a product, whatever is multiplied by an adjoint that is not there could be infinite.
TEST(GradientForm, AdjointsThatAreNotThereAreZerosInProductsOfReads) {
    EXPECT_EQ(equation({"y = conv(X, W)", {{"X", {1, 1, 9}}, {"W", {1, 1, 3}}}}),
              "for @p0 < 1, @p1 < 1, @p2 < 9: d_X[@p0, @p1, @p2] = sum(k0 < 3 : "
              "(d_y[@p0, 0, @p2 - k0] ?? float64(0.0)) * W[0, 0, k0])");
    EXPECT_EQ(equation({"y = conv(X, exp(W))", {{"X", {1, 1, 9}}, {"W", {1, 1, 3}}}}).find("if"), std::string::npos);
    EXPECT_NE(equation({"y = lp_pool(X, kernel: [3])", {{"X", {1, 1, 12}}}}).find(" if "), std::string::npos);
}

TEST(GradientForm, IndirectReadsAreFilteredByEqualities) {
    EXPECT_EQ(equation({"y = gather(t, i)", {{"t", {5}}, {"i", {3}, 0, 0, {0, 0, 0}}}}),
              "for @p0 < 5: d_t[@p0] = sum(ids_shape0 < 3 if (i[ids_shape0] < 0 ? i[ids_shape0] + 5 : i[ids_shape0]) "
              "== @p0 : d_y[ids_shape0])");
}

TEST(GradientForm, ReductionsThatManyPointsShareAreComputedOnce) {
    const Graph graph =
        program({"y, at = max_pool(X, kernel: [3], strides: [2])", {{"X", {1, 1, 19}}}}, DType::float64);
    auto made = gradient(graph, graph.inputs);
    ASSERT_TRUE(made) << render(made.error());
    const Body& body = *made->operations.back().body;
    ASSERT_EQ(body.locals.size(), 1u);
    EXPECT_EQ(body.variable(body.locals[0].variables.back()).extent.value(), 9);
}

// What a window's sum gets is worked out where the window is, not at each place in it.
TEST(GradientForm, LongAdjointsThatManyPointsShareAreComputedOnce) {
    const Graph graph = program({"y = lp_pool(X, kernel: [3])", {{"X", {1, 1, 12}}}}, DType::float64);
    auto made = gradient(graph, graph.inputs);
    ASSERT_TRUE(made) << render(made.error());
    const Body& body = *made->operations.back().body;
    const std::string text = print(*made);
    ASSERT_EQ(body.locals.size(), 1u) << text;
    EXPECT_EQ(body.variable(body.locals[0].variables.back()).extent.value(), 10) << text;
}

TEST(GradientForm, NamedExtentsKeepTheirNames) {
    auto graph = build_program(std::make_shared<SourceText>("case", "y = numpy_matmul(a, b)"), library(),
                               {{"a", {DType::float32, {named_size("batch", 4), 3}}}, {"b", {DType::float32, {3, 7}}}});
    ASSERT_TRUE(graph);
    auto made = gradient(*graph, {graph->inputs[1]});
    ASSERT_TRUE(made) << render(made.error());
    EXPECT_NE(print(*made).find("sum(row0 < batch"), std::string::npos) << print(*made);
}

// Where the derivative of a branch is infinite, a branch not taken adds nothing.
TEST(GradientForm, WhatIsNotChosenGivesNothing) {
    const Graph graph = program({"y = minimum(a, recip(x))", {{"a", {2}}, {"x", {2}}}}, DType::float64);
    auto made = gradient(graph, {graph.inputs[1]});
    ASSERT_TRUE(made) << render(made.error());
    TensorData a(DType::float64, {2}), x(DType::float64, {2}), adjoint(DType::float64, {2});
    a.set_real(0, 1), a.set_real(1, 1), x.set_real(1, 4), adjoint.set_real(0, 1), adjoint.set_real(1, 1);
    auto values = evaluate_graph(*made, {a, x, adjoint}, Precision::body);
    ASSERT_TRUE(values) << render(values.error());
    const TensorData& found = (*values)[static_cast<size_t>(made->outputs[0])];
    EXPECT_EQ(found.real_at(1), -1.0 / 16);
}

TEST(GradientForm, AProductWithAZeroHasTheProductOfTheOthers) {
    const Graph graph = program({"y = reduce_prod(x)", {{"x", {3}}}}, DType::float64);
    auto made = gradient(graph, graph.inputs);
    ASSERT_TRUE(made) << render(made.error());
    TensorData x(DType::float64, {3}), adjoint(DType::float64, {1});
    x.set_real(0, 2), x.set_real(2, 5), adjoint.set_real(0, 1);
    auto values = evaluate_graph(*made, {x, adjoint}, Precision::body);
    ASSERT_TRUE(values) << render(values.error());
    const TensorData& found = (*values)[static_cast<size_t>(made->outputs[0])];
    EXPECT_EQ(found.real_at(0), 0);
    EXPECT_EQ(found.real_at(1), 10);
    EXPECT_EQ(found.real_at(2), 0);
}

TEST(GradientForm, NarrowFloatsAreDerivedInTheirArithmetic) {
    const Case one{"y = softmax(numpy_matmul(x, w))", {{"x", {2, 3}}, {"w", {3, 4}}}};
    for (DType dtype : {DType::float16, DType::float8e4m3fn, DType::float8e5m2fnuz}) {
        const Graph graph = program(one, dtype);
        auto made = gradient(graph, graph.inputs);
        ASSERT_TRUE(made) << render(made.error());
        auto sound = verify(*made);
        ASSERT_TRUE(sound) << render(sound.error());
        for (TensorId id : made->outputs) EXPECT_EQ(made->tensor(id).type.dtype, dtype);
    }
}

// The trigamma function at 1, 0.5 and -0.5, and the tetragamma function at 1: pi^2 / 6, pi^2 / 2, pi^2 / 2 + 4 and -2 zeta(3).
TEST(GradientForm, DigammaHasDerivativesOfEveryOrder) {
    const Graph graph = program({"y = digamma(x)", {{"x", {3}}}}, DType::float64);
    auto once = gradient(graph, graph.inputs);
    ASSERT_TRUE(once) << render(once.error());
    auto twice = gradient(*once, {once->inputs[0]});
    ASSERT_TRUE(twice) << render(twice.error());
    TensorData x(DType::float64, {3}), ones(DType::float64, {3});
    for (int64_t i = 0; i < 3; ++i)
        x.set_real(i, std::array{1.0, 0.5, -0.5}[static_cast<size_t>(i)]), ones.set_real(i, 1);
    const TensorData first = outputs_of(*once, {x, ones})[0], second = outputs_of(*twice, {x, ones, ones})[0];
    EXPECT_NEAR(first.real_at(0), 1.6449340668482264, 1e-13);
    EXPECT_NEAR(first.real_at(1), 4.934802200544679, 1e-13);
    EXPECT_NEAR(first.real_at(2), 8.934802200544679, 1e-12);
    EXPECT_NEAR(second.real_at(0), -2.4041138063191885, 1e-12);
}

TEST(GradientForm, WhatReachesNothingHasAGradientOfZero) {
    EXPECT_EQ(equation({"y = floor(x)", {{"x", {2}}}}), "for @p0 < 2: d_x[@p0] = float64(0.0)");
}

// ---- refusals

// Sixty squares of squares are sixty nodes, and a way through them for each of 2^60 factors.
TEST(GradientForm, ProductsOfSharedFactorsAreAskedOnce) {
    std::string text =
        "powers:\n  inputs: {x: \"$T[$n]\", w: \"$T[3]\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n  body: |\n"
        "    let b0 = x[@n]\n    let c0 = @n\n";
    for (int i = 1; i <= 60; ++i)
        text += fmt::format("    let b{} = b{} * b{}\n    let c{} = c{} * c{}\n", i, i - 1, i - 1, i, i - 1, i - 1);
    text += "    y = sum(k < 3 : (x[@n + k - 1] ?? 0) * (x[c60 + k] ?? 1) * w[k] * b60)\n";
    auto graph = build_program(std::make_shared<SourceText>("case", "y = powers(x, w)"), library_of(text),
                               {{"x", {DType::float32, {8}}}, {"w", {DType::float32, {3}}}});
    ASSERT_TRUE(graph) << render(graph.error());
    auto made = gradient(*graph, graph->inputs);
    ASSERT_TRUE(made) << render(made.error());
    EXPECT_TRUE(verify(*made));
}

TEST(GradientErrors, OnlyInputsOfFloatTypes) {
    const Graph graph = program({"y = gather(t, i)", {{"t", {5}}, {"i", {3}, 0, 0, {0, 0, 0}}}}, DType::float32);
    EXPECT_EQ(code_of(gradient(graph, {graph.inputs[1]})), "gradient.input");
    EXPECT_EQ(code_of(gradient(graph, graph.outputs)), "gradient.input");
    EXPECT_EQ(code_of(gradient(graph, {TensorId(99)})), "gradient.input");
}

TEST(GradientErrors, OnlyOutputsOfFloatTypes) {
    const Graph graph = program({"y = argmax(x)", {{"x", {5}}}}, DType::float32);
    EXPECT_EQ(code_of(gradient(graph, graph.inputs)), "gradient.output");
}

TEST(GradientErrors, AKernelElsewhere) {
    Graph graph = program({"y = exp(x)", {{"x", {5}}}}, DType::float32);
    graph.operations[0].body = nullptr;
    EXPECT_EQ(code_of(gradient(graph, graph.inputs)), "gradient.opaque");
}

TEST(GradientErrors, BodiesThatAreTooLarge) {
    Graph graph = program({"y = exp(x)", {{"x", {5}}}}, DType::float32);
    for (size_t length : {size_t{2'000}, largest_forward}) {
        Body body = *graph.operations[0].body;
        BodyEquation& equation = body.equations[0];
        for (size_t i = 0; i < length; ++i) {
            Node next = body.node(equation.value);
            next.operands = {equation.value};
            body.nodes.push_back(next);
            equation.value = last_id<NodeId>(body.nodes);
        }
        Graph large = graph;
        large.operations[0].body = std::make_shared<Body>(std::move(body));
        EXPECT_EQ(code_of(gradient(large, large.inputs)), "gradient.limit");
    }
}

}  // namespace
}  // namespace heddle::gradient
