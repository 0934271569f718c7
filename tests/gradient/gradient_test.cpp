// Gradients of operators against differences of their values, and through the compiler.
#include <cmath>

#include "backends/llvm/llvm_backend.h"
#include "equations/fusion.h"
#include "equations/passes.h"
#include "helpers/run_system.h"
#include "evaluate/compare.h"
#include "differences.h"
#include "runtime/executable.h"
#include "target/target.h"

namespace heddle::gradient {
namespace {

void expect_differences(const Case& one) {
    SCOPED_TRACE(one.text);
    const Graph graph = program(one, DType::float64);
    std::mt19937 random(11);
    EXPECT_EQ(difference(graph, feeds_of(one, DType::float64, random), random), "");
}

TEST(CompileJobs20, GradientsAgreeWithDifferences) {
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
        EXPECT_TRUE(plan->notes.empty()) << render(plan->notes);
        auto executable = runtime::Executable::make(std::move(*plan), cache, *pool);
        ASSERT_TRUE(executable) << render(executable.error());
        auto found = runtime::Session(*executable, pool).run(prepared.feeds);
        ASSERT_TRUE(found) << render(found.error());
        expect_near_bounds(prepared.gradient, *found, prepared.expected);
    }
}

}  // namespace
}  // namespace heddle::gradient
