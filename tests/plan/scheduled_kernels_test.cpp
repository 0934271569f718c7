// Kernels that are equal for all sizes are scheduled once, and no others are taken for them.
#include "plan/scheduled_kernels.h"

#include <gtest/gtest.h>

#include "helpers/library.h"
#include "plan/plan.h"
#include "schedules/same_kernel.h"
#include "symbolic/program.h"
#include "target/target.h"
#include "zspace/size_facts.h"

namespace heddle::plan {
namespace {

int scheduled_kernels = 0;

Result<schedules::Scheduled> counted(const schedules::Kernel& kernel, const Target& target) {
    scheduled_kernels++;
    return schedules::schedule(kernel, target);
}

Graph layers(int number) {
    std::string text;
    std::string before = "x";
    for (int l = 0; l < number; l++) {
        const std::string n = std::to_string(l);
        text += "a" + n + " = matmul(" + before + ", w" + n + "); b" + n + " = softmax(a" + n + ", axis: 1); ";
        before = "b" + n;
    }
    text += "y = relu(" + before + ")";
    std::vector<ProgramInput> inputs = {{"x", {DType::float32, {Size(64), Size(64)}}}};
    for (int l = 0; l < number; l++)
        inputs.push_back({"w" + std::to_string(l), {DType::float32, {Size(64), Size(64)}}});
    Session session(library());
    auto applied = apply_program(session, std::make_shared<SourceText>("program", text), inputs);
    EXPECT_TRUE(applied) << (applied ? "" : render(applied.error()));
    return session.finish(std::move(applied->outputs));
}

TEST(ScheduledKernels, OfEqualLayersAreScheduledOnce) {
    std::vector<int> calls;
    for (int number : {5, 9}) {
        scheduled_kernels = 0;
        const auto plan = make_plan(layers(number), detect_host(), {.schedule = counted});
        ASSERT_TRUE(plan) << render(plan.error());
        EXPECT_GE(plan->launches(), number);
        calls.push_back(scheduled_kernels);
    }
    EXPECT_EQ(calls[0], calls[1]);
}

schedules::Kernel kernel_of(const std::string& text) {
    auto kernel = schedules::parse_kernel(std::make_shared<SourceText>("kernel", text));
    EXPECT_TRUE(kernel) << (kernel ? "" : render(kernel.error()));
    return std::move(*kernel);
}

const std::string scaled =
    "kernel k\n  axis a = 40 hint 40\n  input i0: float32 [40 stride 1]\n  output o0: float32 [40 stride 1]\n  common a\n"
    "  o0[a] over [a] = i0[a] * 2.5\n";

TEST(SameKernel, IsNoneThatDiffersInAnything) {
    const schedules::Kernel kernel = kernel_of(scaled);
    EXPECT_TRUE(same(kernel, kernel_of(scaled)));
    EXPECT_EQ(hash_of(kernel), hash_of(kernel_of(scaled)));
    const std::vector<std::pair<std::string, std::string>> changes = {
        {"2.5", "2.25"},       {"hint 40", "hint 41"},      {"i0[a] *", "i0[a] +"},          {"common a", "common"},
        {"axis a = 40", "axis a = 39"}, {"[40 stride 1]\n  output", "[40 stride 2]\n  output"},
        {"[40 stride 1]\n  output", "[40 stride 1 margin 1 0]\n  output"},
        {"[40 stride 1]\n  output", "[40 stride 1] constant\n  output"},
        {"[40 stride 1]\n  output", "[40 stride 1] unaligned\n  output"},
        {"[40 stride 1]\n  output", "[40 stride 1] tight\n  output"},
        {"[40 stride 1]\n  output", "[40 stride 1] filling 1\n  output"},
        {"float32 [40 stride 1]\n  common", "float64 [40 stride 1]\n  common"},
        {"  o0[a] over", "  light o0[a] over"}};
    for (const auto& [from, to] : changes) {
        std::string other = scaled;
        const size_t at = other.find(from);
        ASSERT_NE(at, std::string::npos) << from;
        other.replace(at, from.size(), to);
        EXPECT_FALSE(same(kernel, kernel_of(other))) << other;
    }
}

// The same number here, but another expression: for other sizes they are not the same.
TEST(SameKernel, LooksAtExpressionsOfSizesAndTellsNoFact) {
    const auto with = [&](const Size& extent) {
        schedules::Kernel kernel = kernel_of(scaled);
        schedules::Kernel named;
        expr::Axis axis = kernel.axis(schedules::AxisId(0));
        axis.extent = extent;
        named.add_axis(axis);
        named.tensors = kernel.tensors;
        for (schedules::KernelTensor& tensor : named.tensors) tensor.dimensions[0].extent = extent;
        return named;
    };
    const Size n = named_size("n", 40), m = named_size("m", 40);
    const schedules::Kernel one = with(n), again = with(n), other = with(m), fixed = with(40);
    SizeFacts facts;
    const RecordingFacts recording(facts);
    EXPECT_TRUE(same(one, again));
    EXPECT_EQ(hash_of(one), hash_of(again));
    EXPECT_FALSE(same(one, other));
    EXPECT_FALSE(same(one, fixed));
    EXPECT_TRUE(facts.list().empty());
}

}  // namespace
}  // namespace heddle::plan
