// Fused = unfused on random systems, each kernel's tasks apart and poisoned; and that this comparison notices what a
// broken rule would make: a system or a partition that is damaged after the passes.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "equations/common_axes.h"
#include "equations/passes.h"
#include "evaluate/compare.h"
#include "helpers/run_system.h"
#include "partition_checker.h"
#include "random_system.h"

namespace heddle::equations::testing {
namespace {

// What a mistake would have made of a system and its partition; false where there is nothing to make it of.
struct Damage {
    std::function<bool(System&)> system;
    std::function<bool(const System&, Partition&)> partition;
};

struct Trial {
    bool damaged = false;
    std::string difference;  // empty if the optimised system, run kernel by kernel and task by task, agrees
    size_t equations = 0, kernels = 0, joined = 0, apart = 0;  // before damage; pairs of producer and reader
};

// Each equation is in one kernel; pairs that stay apart have a reason.
std::string count(const System& system, const Partition& partition, Trial& trial) {
    std::vector<int32_t> grouped;
    for (const Kernel& kernel : partition.kernels)
        grouped.insert(grouped.end(), kernel.equations.begin(), kernel.equations.end());
    auto all = system.order();
    std::ranges::sort(all);
    std::ranges::sort(grouped);
    trial.equations = all.size();
    trial.kernels = partition.kernels.size();
    for (const Decision& decision : partition.decisions) {
        (decision.joined ? trial.joined : trial.apart)++;
        if (!decision.joined && decision.reason.empty()) return decision.producer + " stays apart for no reason";
        if (decision.joined && decision.gain < 0) return decision.producer + " is joined at a loss";
    }
    if (trial.joined > 0 && trial.kernels >= trial.equations) return "no kernel less for what is joined";
    return grouped == all ? "" : "not each equation is in one kernel";
}

// The first output of `values` that is not what it was before fusion: bit by bit where nothing is rounded twice,
// elsewhere within each element's bound.
std::string difference(const RandomSystem& random, bool exact, const System& fused,
                       const std::vector<TensorData>& values) {
    const auto plain = run(random.system, random.feeds);
    const auto bounded = run_bounded(random.system, random.feeds);
    if (!plain || !bounded) return "unfused: " + render(plain ? bounded.error() : plain.error());
    for (size_t o = 0; o < fused.outputs.size(); o++) {
        const auto before = static_cast<size_t>(random.system.outputs[o]);
        const TensorData &found = values[static_cast<size_t>(fused.outputs[o])], &wanted = (*plain)[before];
        const std::string name = fused.tensor(fused.outputs[o]).name;
        for (int64_t i = 0; exact && i < wanted.size(); i++) {
            const double p = wanted.real_at(i), q = found.real_at(i);
            if (std::bit_cast<uint64_t>(p) == std::bit_cast<uint64_t>(q) || (std::isnan(p) && std::isnan(q))) continue;
            return fmt::format("'{}' element {}: {} and {}", name, i, p, q);
        }
        const BoundedComparison compared = compare_bounded(found, (*bounded)[before]);
        if (!compared.equal) return fmt::format("'{}': {}", name, compared.text());
    }
    return "";
}

Trial trial(uint64_t seed, bool exact, const Damage& damage = {}, int operations = 12,
            const OptimiseOptions& options_of_passes = {}) {
    Trial result;
    RandomSystem random = random_system(seed, operations, exact);
    if (random.system.outputs.empty()) return result;
    System fused = random.system;
    optimise(fused, options_of_passes);
    if (damage.system) result.damaged = damage.system(fused);
    if (auto sound = verify(fused); !sound) return {.damaged = result.damaged, .difference = "verify: " + render(sound.error())};
    FusionOptions options;
    options.one_contraction = seed % 2 == 0;
    Partition partition = fuse(fused, Target(), options);
    result.difference = count(fused, partition, result);
    if (!result.difference.empty()) return result;
    if (damage.partition) result.damaged = damage.partition(fused, partition);
    const auto values = run_partition(fused, partition, random.feeds, seed);
    if (!values) return {.damaged = result.damaged, .difference = "fused: " + render(values.error())};
    result.difference = difference(random, exact, fused, *values);
    if (!result.difference.empty()) result.difference += "\n" + print(fused) + print(fused, partition);
    return result;
}

// A thousand systems; what has become of their equations.
Trial expect_same(uint64_t first, bool exact) {
    Trial all;
    for (uint64_t seed = first; seed < first + 1000; seed++) {
        const Trial one = trial(seed, exact);
        EXPECT_EQ(one.difference, "") << "seed " << seed;
        if (!one.difference.empty()) break;
        all.equations += one.equations;
        all.kernels += one.kernels;
        all.joined += one.joined;
        all.apart += one.apart;
    }
    fmt::print("{} equations in {} kernels; {} pairs joined, {} apart\n", all.equations, all.kernels, all.joined,
               all.apart);
    return all;
}

// Those of random_programs --fused are compiled.
TEST(RandomFusion, FusedIsUnfused) {
    const Trial all = expect_same(0, false);
    EXPECT_GT(all.joined, all.apart);
}

TEST(RandomFusion, MovementAndElementwiseBitForBit) {
    const Trial all = expect_same(20000, true);
    EXPECT_GT(all.joined, 10 * all.apart);
}

// No pass relies on what another one has done.
TEST(RandomFusion, EachPassMayBeSwitchedOff) {
    for (const Pass& pass : passes()) {
        for (uint64_t seed = 40000; seed < 40012; seed++) {
            const Trial result = trial(seed, false, {}, 12, {.without = {pass.name}});
            ASSERT_EQ(result.difference, "") << "without " << pass.name << ", seed " << seed;
        }
    }
}

TEST(RandomFusion, ReductionsInPartsAreWhole) {
    const auto split = [](System& system) {
        const size_t before = system.equations.size();
        split_reductions(system,
                         {.most = 4, .terms_an_element = 0.25, .terms = 1, .product_shares = 2, .product_terms = 2});
        mark_prepared(system);
        return system.equations.size() > before;
    };
    int systems = 0;
    for (uint64_t seed = 30000; seed < 30400; seed++) {
        const Trial result = trial(seed, false, {.system = split, .partition = {}});
        ASSERT_EQ(result.difference, "") << "seed " << seed;
        systems += result.damaged;
    }
    EXPECT_GE(systems, 20);
}

// Most of the systems that are damaged must be noticed, and there must be some.
void expect_noticed(const Damage& damage, int systems, int at_least, int operations = 12) {
    int damaged = 0, noticed = 0;
    for (uint64_t seed = 5000; seed < 5000 + static_cast<uint64_t>(systems); seed++) {
        const Trial result = trial(seed, false, damage, operations);
        damaged += result.damaged;
        noticed += result.damaged && !result.difference.empty();
    }
    ::testing::Test::RecordProperty("damaged", damaged);
    ::testing::Test::RecordProperty("noticed", noticed);
    EXPECT_GE(damaged, at_least);
    EXPECT_GT(2 * noticed, damaged) << noticed << " of " << damaged;
}

// Each right side with `change` made of every node, operands first.
bool rewrite_all(System& system, const std::function<Expr(Arena&, Expr, const std::vector<Expr>&)>& change) {
    Arena& arena = *system.arena;
    bool changed = false;
    for (Equation& equation : system.equations) {
        if (equation.dead) continue;
        auto nodes = walk(equation.right);
        std::sort(nodes.begin(), nodes.end(), [](Expr a, Expr b) { return a->id < b->id; });
        std::map<Expr, Expr> made;
        for (Expr node : nodes) {
            std::vector<Expr> operands;
            for (Expr operand : node->parts()) operands.push_back(made.at(operand));
            made[node] = change(arena, node, operands);
        }
        changed = changed || made.at(equation.right) != equation.right;
        equation.right = made.at(equation.right);
    }
    return changed;
}

// As if factoring gave the digits of a coordinate one another's weights.
TEST(RandomFusion, NoticesSwappedDigits) {
    const auto damage = [](System& system) {
        return rewrite_all(system, [](Arena& arena, Expr node, const std::vector<Expr>& operands) {
            if (node->kind != Kind::linear || operands.size() < 2) return arena.rebuild(node, operands);
            Expr sum = arena.integer(node->integer);
            for (size_t k = 0; k < operands.size(); k++)
                sum = arena.add(sum, operands[k], node->coefficients[operands.size() - 1 - k]);
            return sum;
        });
    };
    expect_noticed({.system = damage}, 60, 10);
}

// As if value < 0 had become value < 1.
TEST(RandomFusion, NoticesSelectionBoundaries) {
    const auto damage = [](System& system) {
        return rewrite_all(system, [](Arena& arena, Expr node, const std::vector<Expr>& operands) {
            if (node->kind == Kind::negative) return arena.less(operands[0], arena.integer(1));
            return arena.rebuild(node, operands);
        });
    };
    expect_noticed({.system = damage}, 60, 10);
}

// An equation of the kernel reads another's result at other points of the axis than its own.
bool is_broken(const System& system, const Kernel& kernel, const Kernel::CommonAxis& axis) {
    for (int32_t reader : kernel.equations) {
        for (Expr read : reads(system.equation(reader))) {
            for (int32_t maker : kernel.equations) {
                const Equation& made = system.equation(maker);
                if (made.tensor != read->tensor()) continue;
                for (size_t d = 0; d < made.left.size(); d++) {
                    const bool along = made.left[d] == system.arena->axis_value(axis.axis_of.at(maker));
                    if (along && read->parts()[d] != system.arena->axis_value(axis.axis_of.at(reader))) return true;
                }
            }
        }
    }
    return false;
}

// One more common axis for a kernel: of each equation an axis of one extent that is none of its common ones, and broken.
bool add_common_axis(const System& system, Kernel& kernel) {
    if (kernel.equations.size() < 2) return false;
    const auto free_axis = [&](int32_t index, int64_t extent) -> AxisId {
        const Equation& equation = system.equation(index);
        for (AxisId axis : equation.axes) {
            const bool common = std::any_of(kernel.common.begin(), kernel.common.end(), [&](const auto& c) {
                return c.axis_of.contains(index) && c.axis_of.at(index) == axis;
            });
            if (!common && axis != equation.ordered && system.arena->extent(axis) == extent) return axis;
        }
        return no_id;
    };
    for (AxisId model : system.equation(kernel.equations.back()).axes) {
        Kernel::CommonAxis added{system.arena->extent(model), {}};
        if (added.extent < 2) continue;
        for (int32_t index : kernel.equations) {
            const AxisId axis = free_axis(index, added.extent);
            if (axis >= 0) added.axis_of[index] = axis;
        }
        if (added.axis_of.size() != kernel.equations.size() || !is_broken(system, kernel, added)) continue;
        kernel.common.push_back(std::move(added));
        return true;
    }
    return false;
}

TEST(RandomFusion, NoticesBrokenAxesTakenAsCommon) {
    const auto damage = [](const System& system, Partition& partition) {
        bool any = false;
        for (Kernel& kernel : partition.kernels) any = add_common_axis(system, kernel) || any;
        return any;
    };
    expect_noticed({.partition = damage}, 300, 30);
}

bool reads_any(const Kernel& reader, const Kernel& maker) {
    return std::any_of(reader.inputs.begin(), reader.inputs.end(), [&](TensorIndex tensor) {
        return std::find(maker.outputs.begin(), maker.outputs.end(), tensor) != maker.outputs.end();
    });
}

// Kernels that need one another: the first and the last of a chain of three become one, at the place of the first.
bool join_ends_of_a_chain(Partition& partition) {
    auto& kernels = partition.kernels;
    for (size_t a = 0; a < kernels.size(); a++) {
        for (size_t between = a + 1; between < kernels.size(); between++) {
            for (size_t b = between + 1; b < kernels.size(); b++) {
                if (!reads_any(kernels[between], kernels[a]) || !reads_any(kernels[b], kernels[between])) continue;
                Kernel& joined = kernels[a];
                joined.common.clear();
                const auto append = [](auto& list, const auto& more) {
                    list.insert(list.end(), more.begin(), more.end());
                };
                append(joined.equations, kernels[b].equations);
                append(joined.inputs, kernels[b].inputs);
                append(joined.outputs, kernels[b].outputs);
                std::erase_if(joined.inputs, [&](TensorIndex tensor) {
                    return std::find(joined.outputs.begin(), joined.outputs.end(), tensor) != joined.outputs.end();
                });
                kernels.erase(kernels.begin() + static_cast<std::ptrdiff_t>(b));
                partition.batches.clear();
                return true;
            }
        }
    }
    return false;
}

TEST(RandomFusion, NoticesCyclesOfKernels) {
    const auto damage = [](const System&, Partition& partition) { return join_ends_of_a_chain(partition); };
    expect_noticed({.partition = damage}, 200, 10, 24);
}

}  // namespace
}  // namespace heddle::equations::testing
