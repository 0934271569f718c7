// The list of passes: names, what reopens what, when marks are made, and that a run ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "equations/passes.h"
#include "system_builder.h"

namespace heddle::equations::testing {
namespace {

TEST(Passes, NamesAreUniqueAndKnown) {
    std::set<std::string_view> names;
    for (const Pass& pass : passes()) {
        EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
        EXPECT_EQ(pass_named(pass.name), &pass);
        EXPECT_FALSE(pass.what.empty()) << pass.name;
    }
    for (const Pass& pass : passes())
        for (std::string_view other : pass.reopens) EXPECT_TRUE(names.contains(other)) << pass.name << ": " << other;
    EXPECT_EQ(pass_named("no-such-pass"), nullptr);
}

// Runs of each pass, by name.
std::map<std::string_view, int> runs_of(System& system, const std::set<std::string_view>& without = {}) {
    std::map<std::string_view, int> runs;
    optimise(system, {.without = without, .after = [&](const Pass& pass, const System&, bool) { runs[pass.name]++; }});
    return runs;
}

TEST(Passes, EachRunsOnceWhereNothingIsReopened) {
    SystemBuilder b;
    b.output(b.unary(b.input({8, 16}), ScalarOp::exp));
    const auto runs = runs_of(b.system);
    EXPECT_EQ(runs.size(), passes().size());
    for (const auto& [name, count] : runs) EXPECT_EQ(count, 1) << name;
}

TEST(Passes, WhatIsSwitchedOffDoesNotRun) {
    SystemBuilder b;
    b.output(b.softmax(b.input({8, 100})));
    const auto runs = runs_of(b.system, {"common-subexpressions", "views"});
    EXPECT_FALSE(runs.contains("common-subexpressions"));
    EXPECT_FALSE(runs.contains("views"));
    EXPECT_EQ(runs.size(), passes().size() - 2);
}

// The product behind softmax's sum is substituted again.
TEST(Passes, AChangeReopensOthers) {
    SystemBuilder b;
    const TensorIndex x = b.input({64, 32});
    b.output(b.matmul(b.softmax(b.matmul(x, b.transpose(x, {1, 0}))), x));
    EXPECT_EQ(runs_of(b.system).at("pointwise"), 2);
}

// What is made of constants is marked behind the last pass, whichever made it.
TEST(Passes, MarksHoldBehindAllPasses) {
    SystemBuilder b;
    const TensorIndex deviation = b.unary(b.shifted(b.weights({768}), 1e-5), ScalarOp::sqrt);
    b.output(b.binary(b.input({128, 768}), deviation, ScalarOp::divide));
    optimise(b.system);
    const auto marks = [&] {
        std::vector<bool> prepared;
        for (const SystemTensor& tensor : b.system.tensors) prepared.push_back(tensor.prepared);
        return prepared;
    };
    const std::vector<bool> left = marks();
    EXPECT_NE(std::ranges::find(left, true), left.end());
    mark_prepared(b.system);
    EXPECT_EQ(marks(), left);
}

}  // namespace
}  // namespace heddle::equations::testing
