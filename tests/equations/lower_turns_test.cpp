// Sums of turns (cosines and sines of angles of k * j): cut into short sums, they are what they were.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "graph_builder.h"
#include "equations/system.h"
#include "helpers/run_system.h"

namespace heddle::equations {
namespace {

using testing::BodyBuilder;
using testing::GraphBuilder;

// sum(k < terms : x[row, k] * a cosine + z[row, k] * a sine) for each j < results; the angle in turns is
// (scale * k * j [% modulus]) / period + k * of_k + j * of_j.
struct Transform {
    int64_t terms = 128, results = 128, scale = 1, period = 128, modulus = 128;  // of 0: none
    double of_k = 0, of_j = 0;
    bool has_cosine = true, has_sine = true, is_difference = false, is_weighted = false;
    DType dtype = DType::float64;
};

NodeId angle_of(BodyBuilder& b, const Transform& t, NodeId k, NodeId j) {
    const auto real = [&](double value) { return b.real(value, DType::float64); };
    const auto times = [&](NodeId e, double value) { return b.times(b.cast(DType::float64, e), real(value)); };
    NodeId whole = b.times(b.times(k, b.integer(t.scale)), j);
    if (t.modulus > 0) whole = b.scalar(ScalarOp::modulo, {whole, b.integer(t.modulus)});
    NodeId angle =
        b.scalar(ScalarOp::divide, {times(whole, 2 * std::numbers::pi), real(static_cast<double>(t.period))});
    if (t.of_k != 0) angle = b.plus(angle, times(k, 2 * std::numbers::pi * t.of_k));
    if (t.of_j != 0) angle = b.plus(angle, times(j, 2 * std::numbers::pi * t.of_j));
    return angle;
}

GraphBuilder graph_of(const Transform& t) {
    GraphBuilder g;
    constexpr int64_t rows = 2;
    const TensorId x = g.input("x", t.dtype, {rows, t.terms}), z = g.input("z", t.dtype, {rows, t.terms});
    const TensorId y = g.tensor("y", t.dtype, {rows, t.results});
    BodyBuilder b;
    const auto axes = b.variables({rows, t.results});
    const VariableId k = b.reduction("k", t.terms);
    const auto at = b.values_of(axes);
    const auto part = [&](int32_t input, ScalarOp wave) {
        NodeId value = b.read(input, t.dtype, {at[0], b.value_of(k)});
        if (t.is_weighted) value = b.times(value, b.cast(t.dtype, b.plus(b.value_of(k), b.integer(1))));
        return b.times(value, b.cast(t.dtype, b.scalar(wave, {angle_of(b, t, b.value_of(k), at[1])})));
    };
    NodeId term = part(0, t.has_cosine ? ScalarOp::cos : ScalarOp::sin);
    if (t.has_cosine && t.has_sine)
        term = b.scalar(t.is_difference ? ScalarOp::subtract : ScalarOp::add, {term, part(1, ScalarOp::sin)});
    b.equation(axes, at, b.reduce(Reducer::sum, {k}, term));
    g.operation("transform", {x, z}, {y}, b);
    g.output(y);
    return g;
}

// How many equations the transform is lowered to; what they compute is compared with the body's value.
size_t checked_equations(const Transform& t, uint32_t seed = 1) {
    const GraphBuilder g = graph_of(t);
    std::mt19937 random(seed);
    const auto feeds = testing::random_feeds(random, g.graph, 5);
    const auto wanted = evaluate_graph(g.graph, feeds, Precision::body);
    auto system = lower(g.graph);
    EXPECT_TRUE(wanted.has_value() && system.has_value());
    if (!wanted || !system) return 0;
    const auto sound = verify(*system);
    EXPECT_TRUE(sound.has_value()) << (sound ? "" : render(sound.error())) << print(*system);
    const auto found = run(*system, feeds);
    EXPECT_TRUE(found.has_value()) << (found ? "" : render(found.error())) << print(*system);
    if (!found) return 0;
    const TensorData& a = (*found)[static_cast<size_t>(system->outputs[0])];
    const TensorData& b = (*wanted)[static_cast<size_t>(g.graph.outputs[0])];
    double largest = 1;
    for (int64_t i = 0; i < b.size(); i++) largest = std::max(largest, std::abs(b.real_at(i)));
    const double tolerance = (t.dtype == DType::float64 ? 1e-10 : 1e-4) * largest;
    for (int64_t i = 0; i < b.size(); i++) {
        EXPECT_NEAR(a.real_at(i), b.real_at(i), tolerance) << "element " << i << "\n" << print(*system);
        if (std::abs(a.real_at(i) - b.real_at(i)) > tolerance) break;
    }
    return system->order().size();
}

TEST(LowerTurns, ATransformBecomesShortSums) {
    EXPECT_EQ(checked_equations({.terms = 256, .results = 256, .period = 256, .modulus = 256}), 5u);
    // Three cuts; a rest of the results; the last term behind the others.
    EXPECT_GT(checked_equations({.terms = 1024, .results = 1024, .period = 1024, .modulus = 1024}), 5u);
    EXPECT_EQ(checked_equations({.terms = 512, .results = 257, .period = 512, .modulus = 512}), 6u);
    EXPECT_GT(checked_equations({.terms = 257, .results = 512, .period = 512, .modulus = 512}), 5u);
    EXPECT_GT(checked_equations({.terms = 512, .results = 512, .period = 1024, .modulus = 0, .of_j = 1.0 / 2048}), 1u);
    EXPECT_GT(checked_equations({.terms = 400, .results = 201, .period = 400, .modulus = 400, .dtype = DType::float32}),
              1u);
}

TEST(LowerTurns, OtherAnglesStayAsTheyAre) {
    EXPECT_EQ(checked_equations({.terms = 16, .results = 16, .period = 16, .modulus = 16}), 1u);
    EXPECT_EQ(checked_equations({.terms = 251, .results = 251, .period = 251, .modulus = 251}), 1u);  // a prime
    EXPECT_EQ(checked_equations({.terms = 256, .results = 256, .period = 256, .modulus = 100}), 1u);  // no whole turns
    EXPECT_EQ(checked_equations({.terms = 256, .results = 256, .period = 65537, .modulus = 0}), 1u);
}

TEST(LowerTurns, RandomTransforms) {
    std::mt19937 random(7);
    const auto of = [&](std::initializer_list<int64_t> choices) { return choices.begin()[random() % choices.size()]; };
    int cut = 0;
    for (uint32_t seed = 0; seed < 60; seed++) {
        Transform t;
        t.terms = of({64, 65, 96, 120, 128, 129, 192, 240, 256});
        t.results = of({33, 64, 100, 128, 129, 192, 256, 300});
        t.period = of({t.terms, 2 * t.terms, t.results, 64, 96, 240});
        t.modulus = of({0, 1, 2}) * t.period;
        t.scale = of({1, 1, -1, 2, 3, -5});
        t.of_k = of({0, 0, 1}) * 0.125 / static_cast<double>(t.period);
        t.of_j = of({0, 0, 1}) * 0.5 / static_cast<double>(t.period);
        t.has_cosine = of({0, 1, 1}) != 0;
        t.has_sine = of({0, 1, 1}) != 0;
        t.is_difference = of({0, 1}) != 0;
        t.is_weighted = of({0, 1}) != 0;
        t.dtype = of({0, 1}) != 0 ? DType::float32 : DType::float64;
        cut += checked_equations(t, seed) > 1;
    }
    EXPECT_GT(cut, 20);
}

}  // namespace
}  // namespace heddle::equations
