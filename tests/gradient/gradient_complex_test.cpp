// Gradients through complex numbers inside of a graph, against differences; at its ends they are refused.
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

TEST(ComplexGradient, AtTheEndsIsRefused) {
    const Graph from = graph_of("power(z)", {{"z", {DType::complex128, {3}}}});
    const Graph to = graph_of("wave(x)", {{"x", {DType::float64, {3}}}});
    for (const Graph* graph : {&from, &to}) {
        auto made = gradient(*graph, graph->inputs);
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().front().code, "gradient.complex");
        EXPECT_NE(made.error().front().remedy, "");
    }
}

}  // namespace
}  // namespace heddle::gradient
