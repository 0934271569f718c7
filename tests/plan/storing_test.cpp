// What either choice of a value moves and computes is what plans of it do.
#include "equations/storing_alternatives.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "helpers/codes.h"
#include "helpers/programs.h"
#include "plan/plan.h"

namespace heddle::plan {
namespace {

using namespace equations;
using enum StoringOutcome::Place;

// Read once or written once by each launch.
int64_t bytes_moved(const Plan& plan) {
    int64_t bytes = 0;
    for (const Batch& batch : plan.run) {
        for (const Launch& launch : batch) {
            for (int32_t buffer : launch.buffers) bytes += plan.buffers[static_cast<size_t>(buffer)].bytes;
        }
    }
    return bytes;
}

struct Wanted {
    StoringOutcome::Place place;
    double operations;  // counted by hand
};

// `h` is a value of the program; what costs choose comes first.
void expect_choices(const std::string& calls, const std::vector<Wanted>& wanted) {
    SCOPED_TRACE(calls);
    const Graph graph = graph_of(calls, {input("x", {1000})});
    const auto system = lower(graph);
    ASSERT_TRUE(system) << render(system.error());
    const auto all = storing_alternatives(*system, Target(), 10);
    const auto h = std::ranges::find_if(all, [](const auto& value) { return value.tensor.ends_with(".h"); });
    ASSERT_NE(h, all.end());
    std::vector<StoringOutcome> outcomes = {h->chosen};
    outcomes.insert(outcomes.end(), h->others.begin(), h->others.end());
    ASSERT_EQ(outcomes.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); i++) {
        SCOPED_TRACE(i);
        EXPECT_EQ(name(outcomes[i].place), name(wanted[i].place));
        EXPECT_EQ(outcomes[i].cost.operations, wanted[i].operations);
        PlanOptions options;
        if (i > 0) options.storing = {{"h", outcomes[i].place == stored ? Storing::stored : Storing::inlined}};
        const auto plan = make_plan(graph, Target(), options);
        ASSERT_TRUE(plan) << render(plan.error());
        EXPECT_EQ(static_cast<double>(bytes_moved(*plan)), outcomes[i].cost.bytes);
        EXPECT_EQ(plan->launches(), static_cast<int64_t>(outcomes[i].launches));
    }
}

// exp and sin count ten operations, neg and mul one.
TEST(Storing, WhatIsShownIsWhatPlansDo) {
    expect_choices("h = neg(x)\ny = mul(flip(h, axes: [0]), h)", {{local, 2000}, {stored, 2000}, {inlined, 3000}});
    expect_choices("h = exp(x)\ny = mul(flip(h, axes: [0]), h)", {{local, 11000}, {stored, 11000}, {inlined, 21000}});
    expect_choices("h = exp(x)\ny = neg(h)", {{inlined, 11000}, {stored, 11000}});
}

TEST(Storing, PlansRefuseWhatCannotBe) {
    const Graph graph = graph_of("h = reduce_sum(x, axes: [0])\ny = sub(x, h)", {input("x", {1000})});
    EXPECT_EQ(codes(make_plan(graph, Target(), {.storing = {{"h", Storing::inlined}}})), Codes{"equations.choice"});
    EXPECT_EQ(codes(make_plan(graph, Target(), {.storing = {{"q", Storing::stored}}})), Codes{"equations.choice"});
}

}  // namespace
}  // namespace heddle::plan
