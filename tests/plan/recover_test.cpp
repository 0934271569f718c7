// Steps of planning that are broken on purpose: the program runs all the same, more simply planned, and its plan says so.
#include <gtest/gtest.h>

#include <stdexcept>

#include "equations/passes.h"
#include "evaluate/evaluate.h"
#include "evaluate/compare.h"
#include "helpers/codes.h"
#include "helpers/running.h"
#include "symbolic/program.h"

namespace heddle::plan {
namespace {

using equations::System;

Graph program() {
    auto graph =
        build_program(std::make_shared<SourceText>("program", "y = softmax(numpy_matmul(relu(x), w), axis: 1)"),
                      library(), {{"x", {DType::float32, {5, 7}}}, {"w", {DType::float32, {7, 9}}}});
    EXPECT_TRUE(graph) << render(graph.error());
    return std::move(*graph);
}

// The plan's notes, where it computes what the interpreter does.
Diagnostics notes_of(const PlanOptions& options) {
    const Graph graph = program();
    const std::vector<TensorData> feeds = {random_tensor({5, 7}, 1), random_tensor({7, 9}, 2)};
    const auto expected = evaluate_graph_bounded(graph, feeds);
    EXPECT_TRUE(expected) << render(expected.error());
    auto plan = make_plan(graph, detect_host(), options);
    EXPECT_TRUE(plan) << render(plan.error());
    Diagnostics notes = plan->notes;
    auto executable = compiled(std::move(*plan));
    auto found = runtime::Session(executable, std::make_shared<ThreadPool>(2)).run(feeds);
    EXPECT_TRUE(found) << render(found.error());
    if (found) {
        auto comparison = compare_bounded((*found)[0], (*expected)[static_cast<size_t>(graph.outputs[0])]);
        EXPECT_TRUE(comparison.equal) << comparison.text();
    }
    return notes;
}

std::string program_of(const Diagnostic& diagnostic) {
    for (const auto& [name, value] : diagnostic.params) {
        if (name == "program") return value;
    }
    return "";
}

// The attached equations can be read again.
void expect_program(const Diagnostic& diagnostic) {
    auto system = equations::parse_system(std::make_shared<SourceText>("program", program_of(diagnostic)));
    EXPECT_TRUE(system) << render(system.error()) << program_of(diagnostic);
}

TEST(Recover, NothingIsSaidWhereNothingIsBroken) { EXPECT_TRUE(notes_of({}).empty()); }

TEST(Recover, APassThatThrows) {
    const auto notes = notes_of({.passes = [](System&) { throw std::out_of_range("broken on purpose"); }});
    EXPECT_EQ(codes_text(notes), "plan.unfused");
    EXPECT_NE(notes.front().found.find("broken on purpose"), std::string::npos);
    expect_program(notes.front());
}

// A pass leaves reads of a tensor that nothing makes any more.
TEST(Recover, APassThatLosesAnEquation) {
    const auto notes = notes_of({.passes = [](System& system) {
        equations::optimise(system);
        system.equation(system.order().front()).dead = true;
    }});
    EXPECT_EQ(codes_text(notes), "plan.unfused");
}

// Kernels of several equations are refused: those of this one are kernels of their own, the others stay.
Result<schedules::Scheduled> only_single_sums(const schedules::Kernel& kernel, const Target& target) {
    bool sums = false;
    for (const auto& equation : kernel.equations) sums |= equation.reducer == Reducer::maximum;
    if (sums && kernel.equations.size() > 1) throw std::logic_error("broken on purpose");
    return schedules::schedule(kernel, target);
}

TEST(Recover, AKernelThatCannotBeScheduled) {
    const auto notes = notes_of({.schedule = only_single_sums});
    EXPECT_EQ(codes_text(notes), "plan.unfused");
    expect_program(notes.front());
    EXPECT_NE(notes.front().found.find("broken on purpose"), std::string::npos);
    auto plan = make_plan(program(), detect_host(), {.schedule = only_single_sums});
    ASSERT_TRUE(plan) << render(plan.error());
    EXPECT_GT(plan->launches(), plan_of(program()).launches());
}

Result<schedules::Scheduled> nothing(const schedules::Kernel&, const Target&) {
    return fail(Diagnostic{.code = "schedules.scope", .summary = "broken on purpose"});
}

TEST(Recover, WhereNoWayIsLeftTheProgramIsAttached) {
    auto plan = make_plan(program(), detect_host(), {.schedule = nothing});
    EXPECT_EQ(codes_text(plan), "plan.broken");
    EXPECT_NE(plan.error().front().found.find("schedules.scope"), std::string::npos);
    expect_program(plan.error().front());
}

}  // namespace
}  // namespace heddle::plan
