// Growth of the passes and of the search with a graph's size: counted, not timed.
#include <gtest/gtest.h>

#include <random>

#include "equations/fusion_groups.h"
#include "equations/pass_support.h"
#include "equations/passes.h"
#include "system_builder.h"

namespace heddle::equations::testing {
namespace {

// Transposes and reshapes of [4, 6, 8, 10], each with a negation or not.
SystemBuilder chain_of_views(int count, bool computing) {
    SystemBuilder b;
    std::mt19937 random(1);
    TensorIndex x = b.input({4, 6, 8, 10});
    for (int k = 0; k < count; k++) {
        std::vector<size_t> order = {0, 1, 2, 3};
        for (size_t d = 4; d > 1; d--) std::swap(order[d - 1], order[random() % d]);
        if (random() % 2 == 0) {
            x = b.transpose(x, order);
            if (computing) x = b.unary(x, ScalarOp::negate);
        } else {
            static const std::vector<int64_t> extents = {4, 6, 8, 10};
            std::vector<int64_t> to;
            for (size_t d : order) to.push_back(extents[d]);
            x = b.reshape(x, to);
        }
    }
    b.output(x);
    return b;
}

SystemBuilder diamonds(int count) {
    SystemBuilder b;
    TensorIndex x = b.input({4096});
    for (int k = 0; k < count; k++) {
        const TensorIndex left = b.unary(x, ScalarOp::tanh);
        x = b.pointwise({4096}, [&](const Coordinates& i) {
            return b.plus(b.read(left, i), b.times(b.read(x, i), b.number(0.5)));
        });
    }
    b.output(x);
    return b;
}

SystemBuilder web(int count) {
    SystemBuilder b;
    std::mt19937 random(3);
    std::vector<TensorIndex> made = {b.input({4096}), b.input({4096})};
    const auto recent = [&](size_t window) { return made[made.size() - 1 - random() % std::min(window, made.size())]; };
    for (int k = 0; k < count; k++) {
        const TensorIndex x = recent(10), y = recent(30);
        made.push_back(b.pointwise({4096}, [&](const Coordinates& i) {
            return b.plus(b.read(x, i), b.apply(ScalarOp::tanh, {b.read(y, i)}));
        }));
    }
    b.output(made.back());
    return b;
}

int64_t total_nodes(const System& system) {
    int64_t nodes = 0;
    for (const Equation& equation : system.equations) {
        if (!equation.dead) nodes += static_cast<int64_t>(walk(equation.right).size());
    }
    return nodes;
}

// What the search of fusion does: growth is tested on this, not on time.
int64_t cost_evaluations(const System& system) {
    const FusionGraph graph(system);
    const Target target;
    const FusionOptions options;
    Grouping grouping(graph, target, options);
    grouping.run();
    return grouping.model().evaluations();
}

int64_t live(const System& system) { return static_cast<int64_t>(system.order().size()); }

TEST(FusionGrowth, ViewsStaySmall) {
    for (int count : {500, 2000}) {
        for (bool computing : {false, true}) {
            SystemBuilder b = chain_of_views(count, computing);
            optimise(b.system);
            ASSERT_TRUE(verify(b.system));
            EXPECT_LE(total_nodes(b.system), 60 * count);
            EXPECT_LE(cost_evaluations(b.system), 12 * count);
        }
    }
}

TEST(FusionGrowth, DiamondsStayLinear) {
    for (int count : {250, 1000}) {
        SystemBuilder b = diamonds(count);
        optimise(b.system);
        EXPECT_LE(live(b.system), 2 * count);
        EXPECT_LE(total_nodes(b.system), 20 * count);
        EXPECT_LE(cost_evaluations(b.system), 12 * count);
        for (const Equation& equation : b.system.equations) {
            if (!equation.dead) {
                ASSERT_LE(walk(equation.right).size(), 200u);
            }
        }
    }
}

TEST(FusionGrowth, WebStaysLinear) {
    for (int count : {500, 2000}) {
        SystemBuilder b = web(count);
        optimise(b.system);
        EXPECT_LE(total_nodes(b.system), 20 * count);
        EXPECT_LE(cost_evaluations(b.system), 16 * count);
    }
}

}  // namespace
}  // namespace heddle::equations::testing
