// Fused = unfused on random systems, each kernel's tasks apart and poisoned; and that this comparison notices broken
// rules.
#include <gtest/gtest.h>

#include "equations/internal.h"
#include "random_system.h"

namespace heddle::equations::testing {
namespace {

// Empty if the optimised system, run kernel by kernel and task by task, agrees with the system as it was.
std::string disagreement(uint64_t seed, bool exact, const internal::BrokenRules& broken = {},
                         const std::function<void(System&)>& damage = nullptr, int operations = 12) {
    RandomSystem random = random_system(seed, operations, exact);
    if (random.system.outputs.empty()) return "";
    const auto expected = run(random.system, random.feeds);
    if (!expected) return "unfused: " + render(expected.error());
    System fused = random.system;
    internal::optimise(fused, broken);
    if (damage) damage(fused);
    if (auto sound = verify(fused); !sound) return "verify: " + render(sound.error());
    FusionOptions options;
    options.one_contraction = seed % 2 == 0;
    const Partition partition = internal::fuse(fused, Target(), options, broken);
    const auto values = run_partition(fused, partition, random.feeds, seed);
    if (!values) return "fused: " + render(values.error());
    const auto difference = compare_outputs(random.system, *expected, fused, *values, exact ? 0 : 1e-5);
    return difference.equal ? "" : difference.what + "\n" + print(fused) + print(fused, partition);
}

TEST(RandomFusion, FusedIsUnfused) {
    for (uint64_t seed = 0; seed < 400; seed++) {
        const std::string difference = disagreement(seed, false);
        ASSERT_EQ(difference, "") << "seed " << seed;
    }
}

TEST(RandomFusion, MovementAndElementwiseBitForBit) {
    for (uint64_t seed = 20000; seed < 20200; seed++) {
        const std::string difference = disagreement(seed, true);
        ASSERT_EQ(difference, "") << "seed " << seed;
    }
}

int noticed(const internal::BrokenRules& broken, int graphs, const std::function<void(System&)>& damage = nullptr,
            int operations = 12) {
    int count = 0;
    for (uint64_t seed = 5000; seed < 5000 + static_cast<uint64_t>(graphs); seed++) {
        count += !disagreement(seed, false, broken, damage, operations).empty();
    }
    return count;
}

TEST(RandomFusion, NoticesNothingWhereNothingIsBroken) { EXPECT_EQ(noticed({}, 60), 0); }

TEST(RandomFusion, NoticesSwappedDigits) { EXPECT_GE(noticed({.factor_digits_swapped = true}, 60), 5); }

TEST(RandomFusion, NoticesBrokenAxesTakenAsCommon) { EXPECT_GE(noticed({.broken_axes_are_common = true}, 120), 1); }

TEST(RandomFusion, NoticesCyclesOfKernels) { EXPECT_GE(noticed({.cycles_are_allowed = true}, 300, nullptr, 24), 1); }

TEST(RandomFusion, NoticesSelectionBoundaries) {
    const auto damage = [](System& system) {
        Arena& arena = *system.arena;
        for (Equation& equation : system.equations) {
            if (equation.dead) continue;
            auto nodes = walk(equation.right);
            std::sort(nodes.begin(), nodes.end(), [](Expr a, Expr b) { return a->id < b->id; });
            std::map<Expr, Expr> made;
            for (Expr node : nodes) {
                std::vector<Expr> operands;
                for (Expr operand : node->operands) operands.push_back(made.at(operand));
                Expr result = arena.rebuild(node, operands);
                // value < 0 becomes value < 1
                if (node->kind == Kind::negative) result = arena.less(operands[0], arena.integer(1));
                made[node] = result;
            }
            equation.right = made.at(equation.right);
        }
    };
    EXPECT_GE(noticed({}, 60, damage), 5);
}

}  // namespace
}  // namespace heddle::equations::testing
