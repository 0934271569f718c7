// Gradients of operators against differences of their values, and through the compiler.
#include <cmath>

#include "backends/llvm/llvm_backend.h"
#include "equations/fusion.h"
#include "evaluate/compare.h"
#include "gradient_cases.h"
#include "runtime/executable.h"
#include "target/target.h"

namespace heddle::gradient {
namespace {

std::vector<TensorData> outputs_of(const Graph& graph, const std::vector<TensorData>& feeds) {
    auto values = evaluate_graph(graph, feeds, Precision::body);
    EXPECT_TRUE(values) << render(values.error()) << print(graph);
    std::vector<TensorData> outputs;
    if (values)
        for (TensorId id : graph.outputs) outputs.push_back((*values)[static_cast<size_t>(id)]);
    return outputs;
}

// The feeds of a gradient: those of the graph, then adjoints.
std::vector<TensorData> with_adjoints(const Graph& graph, const Graph& gradient, std::vector<TensorData> feeds,
                                      std::mt19937& random) {
    for (size_t i = graph.inputs.size(); i < gradient.inputs.size(); ++i) {
        const TensorType& type = gradient.tensor(gradient.inputs[i]).type;
        feeds.push_back(spread(random, type.dtype, type.extents(), -1, 1));
    }
    return feeds;
}

// sum of adjoint * output, at one input's element moved by `by`.
double weighted(const Graph& graph, std::vector<TensorData> feeds, const std::vector<TensorData>& adjoints,
                size_t input, int64_t element, double by) {
    feeds[input] = feeds[input].clone();
    feeds[input].set_real(element, feeds[input].real_at(element) + by);
    double sum = 0;
    size_t next = 0;
    for (const TensorData& output : outputs_of(graph, feeds)) {
        if (!is_float(output.dtype())) continue;
        const TensorData& adjoint = adjoints[next++];
        for (int64_t i = 0; i < output.size(); ++i) sum += output.real_at(i) * adjoint.real_at(i);
    }
    return sum;
}

// Differences over five points: the error is the step's fourth power times a fifth derivative, and rounding over the step.
void expect_differences(const Case& one) {
    SCOPED_TRACE(one.text);
    const Graph graph = program(one, DType::float64);
    const std::vector<TensorId> wanted = float_inputs(graph);
    auto made = gradient(graph, wanted);
    ASSERT_TRUE(made) << render(made.error());
    auto sound = verify(*made);
    ASSERT_TRUE(sound) << render(sound.error()) << print(*made);
    ASSERT_EQ(made->outputs.size(), wanted.size());
    std::mt19937 random(11);
    const auto feeds = feeds_of(one, DType::float64, random);
    const auto all = with_adjoints(graph, *made, feeds, random);
    const std::vector<TensorData> adjoints(all.begin() + static_cast<int64_t>(feeds.size()), all.end());
    const auto found = outputs_of(*made, all);
    ASSERT_EQ(found.size(), wanted.size());
    const double step = 1.0 / 1024;
    size_t next = 0;
    for (size_t input = 0; input < feeds.size(); ++input) {
        if (!is_float(feeds[input].dtype())) continue;
        const TensorData& derived = found[next++];
        ASSERT_EQ(derived.shape(), feeds[input].shape());
        for (int64_t i = 0; i < derived.size(); ++i) {
            auto at = [&](double by) { return weighted(graph, feeds, adjoints, input, i, by * step); };
            const double difference = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step);
            const double tolerance = 1e-8 * (1 + std::abs(difference));
            ASSERT_NEAR(derived.real_at(i), difference, tolerance) << one.inputs[input].name << "[" << i << "]\n"
                                                                   << print(*made);
        }
    }
}

TEST(Gradient, AgreesWithDifferences) {
    for (const Case& one : all_cases()) {
        expect_differences(one);
        if (HasFatalFailure()) return;
    }
}

void expect_near_bounds(const Graph& graph, const std::vector<TensorData>& found,
                        const std::vector<BoundedTensor>& expected) {
    ASSERT_EQ(found.size(), graph.outputs.size());
    for (size_t i = 0; i < found.size(); ++i) {
        auto comparison = compare_bounded(found[i], expected[static_cast<size_t>(graph.outputs[i])]);
        EXPECT_TRUE(comparison.equal) << comparison.text() << print(graph);
    }
}

struct Prepared {
    Graph gradient;
    std::vector<TensorData> feeds;
    std::vector<BoundedTensor> expected;
};

Prepared prepare(const Case& one, DType dtype) {
    Prepared result;
    const Graph graph = program(one, dtype);
    auto made = gradient(graph, float_inputs(graph));
    EXPECT_TRUE(made) << render(made.error());
    if (!made) return result;
    std::mt19937 random(5);
    result.gradient = std::move(*made);
    result.feeds = with_adjoints(graph, result.gradient, feeds_of(one, dtype, random), random);
    auto expected = evaluate_graph_bounded(result.gradient, result.feeds);
    EXPECT_TRUE(expected) << render(expected.error());
    if (expected) result.expected = std::move(*expected);
    return result;
}

TEST(Gradient, LowersAndIsFusedLikeAnyGraph) {
    for (const Case& one : all_cases()) {
        SCOPED_TRACE(one.text);
        Prepared prepared = prepare(one, DType::float64);
        auto system = equations::lower(prepared.gradient);
        ASSERT_TRUE(system) << render(system.error());
        equations::optimise(*system);
        auto sound = equations::verify(*system);
        ASSERT_TRUE(sound) << render(sound.error());
        auto values = equations::run(*system, prepared.feeds);
        ASSERT_TRUE(values) << render(values.error());
        std::vector<TensorData> found;
        for (auto tensor : system->outputs) found.push_back((*values)[static_cast<size_t>(tensor)]);
        expect_near_bounds(prepared.gradient, found, prepared.expected);
        auto partition = equations::fuse(*system, detect_host(), {});
        EXPECT_FALSE(partition.kernels.empty());
    }
}

TEST(Gradient, RunsCompiled) {
    runtime::KernelCache cache(std::make_shared<backends::LlvmBackend>());
    auto pool = std::make_shared<ThreadPool>(2);
    for (const Case& one : structured_cases()) {
        SCOPED_TRACE(one.text);
        Prepared prepared = prepare(one, DType::float32);
        auto plan = plan::make_plan(prepared.gradient, detect_host(), {});
        ASSERT_TRUE(plan) << render(plan.error());
        auto executable = runtime::Executable::make(std::move(*plan), cache, *pool);
        ASSERT_TRUE(executable) << render(executable.error());
        auto found = runtime::Session(*executable, pool).run(prepared.feeds);
        ASSERT_TRUE(found) << render(found.error());
        expect_near_bounds(prepared.gradient, *found, prepared.expected);
    }
}

}  // namespace
}  // namespace heddle::gradient
