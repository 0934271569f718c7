// Derivatives where functions have kinks, and where functions that are written with kinks are smooth
// (docs/gradients.md, "Conventions").
#include <cmath>

#include <fmt/format.h>

#include "gradient/tangents.h"
#include "gradient_cases.h"
#include "helpers/library.h"

namespace heddle::gradient {
namespace {

struct Convention {
    std::string text;
    double at, slope;
};

void expect_slope(const Graph& graph, double at, double expected) {
    TensorData x(DType::float64, {}), one(DType::float64, {});
    x.set_real(0, at);
    one.set_real(0, 1);
    for (auto made : {gradient(graph, graph.inputs), tangents(graph, graph.inputs)}) {
        ASSERT_TRUE(made) << render(made.error());
        auto values = evaluate_graph(*made, {x, one}, Precision::body);
        ASSERT_TRUE(values) << render(values.error());
        EXPECT_NEAR((*values)[static_cast<size_t>(made->outputs[0])].real_at(0), expected, 1e-15) << print(*made);
    }
}

TEST(CompileJobs21, ConventionsOfShippedOperators) {
    const Convention conventions[] = {
        {"relu(x)", 0, 0},       {"abs(x)", 0, 0},        {"maximum(x, 0)", 0, 1}, {"minimum(x, 0)", 0, 1},
        {"maximum(0, x)", 0, 0}, {"clip(x, 0, 1)", 0, 1}, {"clip(x, 0, 1)", 1, 1}, {"leaky_relu(x)", 0, 1},
        {"softplus(x)", 0, 0.5}, {"sigmoid(x)", 0, 0.25}, {"softsign(x)", 0, 1},   {"elu(x)", 0, 1},
        {"celu(x)", 0, 1},
    };
    for (const Convention& one : conventions) {
        SCOPED_TRACE(one.text);
        expect_slope(program({"y = " + one.text, {{"x", {}}}}, DType::float64), one.at, one.slope);
    }
    expect_slope(program({"y = mish(x)", {{"x", {}}}}, DType::float64), 0, std::tanh(std::log(2)));
}

// What is not chosen gives nothing, be its derivative infinite: zero times infinity does not come up.
TEST(CompileJobs22, StrongZero) {
    const Library own = library_with(R"yaml(
bounded: {inputs: {x: "$T[]"}, index: "[]", outputs: {y: "$T"}, body: "y = min(1, 1 / x)"}
guarded: {inputs: {x: "$T[]"}, index: "[]", outputs: {y: "$T"}, body: "y = x > 0 ? sqrt(x) : 0"}
)yaml");
    for (const char* name : {"bounded", "guarded"}) {
        auto graph = build_program(std::make_shared<SourceText>("case", fmt::format("y = {}(x)", name)), own,
                                   {{"x", {DType::float64, {}}}});
        ASSERT_TRUE(graph) << render(graph.error());
        expect_slope(*graph, 0, 0);
    }
}

TEST(Gradient, EachOperandOfAMultiplyAddHasItsShare) {
    const Library own = library_with(R"yaml(
first: {inputs: {x: "$T[]"}, index: "[]", outputs: {y: "$T"}, body: "y = fma(x, 3, 2)"}
second: {inputs: {x: "$T[]"}, index: "[]", outputs: {y: "$T"}, body: "y = fma(5, x, 2)"}
third: {inputs: {x: "$T[]"}, index: "[]", outputs: {y: "$T"}, body: "y = fma(5, 3, -x)"}
all: {inputs: {x: "$T[]"}, index: "[]", outputs: {y: "$T"}, body: "y = fma(x, x * x, x)"}
)yaml");
    const std::pair<const char*, double> slopes[] = {{"first", 3}, {"second", 5}, {"third", -1}, {"all", 13}};
    for (const auto& [name, slope] : slopes) {
        SCOPED_TRACE(name);
        auto graph = build_program(std::make_shared<SourceText>("case", fmt::format("y = {}(x)", name)), own,
                                   {{"x", {DType::float64, {}}}});
        ASSERT_TRUE(graph) << render(graph.error());
        expect_slope(*graph, 2, slope);
    }
}

}  // namespace
}  // namespace heddle::gradient
