// Gradients through complex numbers inside of a graph, against differences; at its ends, as those of the parts.
#include "differences.h"

namespace heddle::gradient {
namespace {

const char* const operators = R"yaml(
spectrum:
  inputs: {x: "$T[$n]", weights: "$T[$n]"}
  index: "[f = $n]"
  outputs: {y: "$T"}
  let: "$complex = $T == float64 ? complex128 : complex64"
  body: |
    let z = sum(k < $n : cast(x[k], $complex) * complex(cos(2 * pi * (@f * k % $n) / $n), -sin(2 * pi * (@f * k % $n) / $n)))
    y = abs(z / complex(2, 1)) * weights[@f]
wave:
  inputs: {x: "float64[$n]"}
  index: "[$n]"
  outputs: {z: "complex128"}
  body: "z = complex(x, x * x)"
pairs:
  inputs: {a: "float64[$n]", b: "float64[$n]"}
  index: "[$n]"
  outputs: {z: "complex128"}
  body: "z = complex(a, b)"
parts:
  inputs: {z: "complex128[$n]"}
  index: "[$n]"
  outputs: {a: "float64", b: "float64"}
  body: |
    a = re(z)
    b = im(z)
turned:
  doc: Neither a real function nor one of a complex variable.
  inputs: {z: "complex128[$n]"}
  index: "[$n]"
  outputs: {y: "complex128"}
  body: "y = z * z * conj(z[$n - 1 - @n]) + complex(abs(z), 1) / z"
power:
  inputs: {z: "complex128[$n]"}
  index: "[]"
  outputs: {y: "float64"}
  body: "y = sum(k < $n : re(z[k] * conj(z[k]) * z[k]) + im(z[k] * z[k]))"
)yaml";

Graph graph_of(const std::string& text, const std::vector<ProgramInput>& inputs) {
    auto graph = build_program(std::make_shared<SourceText>("call", text), library_of(operators), inputs);
    EXPECT_TRUE(graph) << (graph ? "" : render(graph.error()));
    return graph ? std::move(*graph) : Graph{};
}

TEST(ComplexGradient, InsideOfAGraph) {
    std::mt19937 random(3);
    const TensorType type{DType::float64, {7}};
    for (const Graph& graph :
         {graph_of("spectrum(x, w)", {{"x", type}, {"w", type}}), graph_of("power(wave(x))", {{"x", type}})}) {
        std::vector<TensorData> feeds;
        for (size_t i = 0; i < graph.inputs.size(); ++i) feeds.push_back(spread(random, DType::float64, {7}, -1, 1));
        EXPECT_EQ(difference(graph, feeds, random), "");
    }
}

TensorData complexes(const TensorData& real, const TensorData& imaginary) {
    TensorData pairs(DType::float64, {real.size(), 2});
    for (int64_t i = 0; i < real.size(); ++i) {
        pairs.set_real(2 * i, real.real_at(i));
        pairs.set_real(2 * i + 1, imaginary.real_at(i));
    }
    return pairs.viewed(DType::complex128, real.shape());
}

void expect_parts(const TensorData& z, const TensorData& real, const TensorData& imaginary) {
    ASSERT_EQ(z.dtype(), DType::complex128);
    ASSERT_EQ(z.shape(), real.shape());
    const TensorData pairs = z.reals();
    for (int64_t i = 0; i < z.size(); ++i) {
        EXPECT_NEAR(pairs.real_at(2 * i), real.real_at(i), 1e-12);
        EXPECT_NEAR(pairs.real_at(2 * i + 1), imaginary.real_at(i), 1e-12);
    }
}

// Where the ends are complex, the same as of a graph between the parts, which differences confirm. Some parts are equal:
// absolute values are smooth there.
TEST(ComplexGradient, AtTheEnds) {
    std::mt19937 random(9);
    auto some = [&] { return spread(random, DType::float64, {5}, 0.4, 2); };
    const TensorType real{DType::float64, {5}};
    const Graph whole = graph_of("turned(z)", {{"z", {DType::complex128, {5}}}});
    const Graph apart = graph_of("a, b = parts(turned(pairs(x, y)))", {{"x", real}, {"y", real}});
    const TensorData x = some(), y = x.clone(), by_x = some(), by_y = some();
    EXPECT_EQ(difference(apart, {x, y}, random), "");
    for (auto* derive : {+[](const Graph& graph) { return gradient(graph, graph.inputs); },
                         +[](const Graph& graph) { return tangents(graph, graph.inputs); }}) {
        auto of_whole = derive(whole), of_parts = derive(apart);
        ASSERT_TRUE(of_whole && of_parts);
        EXPECT_TRUE(verify(*of_whole));
        const auto found = outputs_of(*of_whole, {complexes(x, y), complexes(by_x, by_y)});
        const auto expected = outputs_of(*of_parts, {x, y, by_x, by_y});
        ASSERT_EQ(found.size(), 1);
        ASSERT_EQ(expected.size(), 2);
        expect_parts(found[0], expected[0], expected[1]);
    }
    auto passes = split(whole, {whole.inputs, {}, {.kind = TapePolicy::Kind::save_all}});
    ASSERT_TRUE(passes) << render(passes.error());
    const TensorData z = complexes(x, y), by = complexes(by_x, by_y);
    auto found = run_split(whole, *passes, {}, {z, by});
    auto expected = gradient(whole, whole.inputs);
    ASSERT_TRUE(found && expected);
    const TensorData parts = outputs_of(*expected, {z, by})[0].reals();
    for (int64_t i = 0; i < parts.size(); ++i) EXPECT_NEAR((*found)[0].reals().real_at(i), parts.real_at(i), 1e-12);
}

}  // namespace
}  // namespace heddle::gradient
