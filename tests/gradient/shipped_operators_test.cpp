// Every shipped operator that has a gradient, on made-up tensors: its adjoints and its tangents are each other's
// transposes, and a rule of its own is what its body gives.
#include "gradient_cases.h"

#include "gradient/check_rule.h"
#include "helpers/duality.h"
#include "helpers/shipped.h"
#include "rewrite/trial.h"

namespace heddle::gradient {
namespace {

TEST(CompileJobs20, ShippedOperatorsHaveAdjointsAndTangentsThatAreTransposes) {
    int derived = 0;
    for (const std::string& name : library().names()) {
        SCOPED_TRACE(name);
        auto found = library().find(name);
        ASSERT_TRUE(found);
        const auto graph = rewrite::made_up_use(**found, library());
        if (!graph || float_inputs(*graph).empty() || !gradient(*graph, float_inputs(*graph))) continue;
        std::mt19937_64 random(3);
        std::vector<TensorData> feeds;
        for (TensorId id : graph->inputs) feeds.push_back(made_up(graph->tensor(id).type, random, 2));
        EXPECT_EQ(duality(*graph, feeds), "") << print(*graph);
        const auto difference = rule_difference(*graph);
        EXPECT_FALSE(difference) << difference->by_rule << " by the rule, " << difference->by_body << " by the body";
        ++derived;
    }
    EXPECT_GE(derived, 140);
}

}  // namespace
}  // namespace heddle::gradient
