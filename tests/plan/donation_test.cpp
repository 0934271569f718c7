// Which output takes over the memory of an input, and what the plan's check must notice of it.
#include <gtest/gtest.h>

#include <functional>

#include "helpers/codes.h"
#include "helpers/programs.h"
#include "helpers/running.h"
#include "plan/donation.h"

namespace heddle::plan {
namespace {

// In two launches: y is read before it is overwritten by the second one.
Graph two_launches() {
    return graph_of("a, b, c = adamw(w, numpy_matmul(numpy_matmul(w, y), x), y, z, n, r)",
                    {input("w", {48, 48}), input("x", {48, 48}), input("y", {48, 48}), input("z", {48, 48}),
                     input("n", {}), input("r", {})});
}
const std::vector<Donation> of_two_launches = {{0, 0}, {1, 2}, {2, 3}};

TEST(Donation, OutputsAreChosenByWhatMakesThem) {
    const auto chosen = [](const Graph& graph, const std::vector<int32_t>& inputs) {
        const auto found = donations_of(graph, inputs);
        return found ? *found : std::vector<Donation>{};
    };
    const Graph adamw =
        graph_of("a, b, c = adamw(w, s, m, v, n, r)",
                 {input("w", {5}), input("s", {5}), input("m", {5}), input("v", {5}), input("n", {}), input("r", {})});
    EXPECT_EQ(chosen(adamw, {0, 2, 3}), (std::vector<Donation>{{0, 0}, {1, 2}, {2, 3}}));
    EXPECT_EQ(chosen(adamw, {3}), (std::vector<Donation>{{0, 3}}));
    const Graph two = graph_of("v, i = top_k(mul(x, x), k: 4)", {input("x", {4}), input("y", {4})});
    EXPECT_EQ(chosen(two, {0}), (std::vector<Donation>{{0, 0}}));
}

TEST(Donation, Refusals) {
    const Graph sum =
        graph_of("a = add(x, y)", {input("x", {4, 5}), input("y", {5}), input("z", {4, 5}, DType::int32)});
    for (const std::vector<int32_t>& inputs : {std::vector<int32_t>{1}, {2}, {0, 2}, {0, 0}}) {
        const auto found = donations_of(sum, inputs);
        EXPECT_EQ(codes(found), Codes{"plan.donation"});
    }
    for (const std::vector<Donation>& wrong :
         {std::vector<Donation>{{0, 1}}, {{0, 2}}, {{1, 0}}, {{0, 3}}, {{-1, 0}}, {{0, -1}}, {{0, 0}, {0, 0}}})
        EXPECT_EQ(codes(make_plan(sum, detect_host(), {.donations = wrong})), Codes{"plan.donation"});
}

TEST(Donation, TextsComeBack) {
    const Plan plan = plan_of(two_launches(), {.donations = of_two_launches});
    const auto constants = constants_of(two_launches());
    ASSERT_TRUE(constants);
    const auto parsed = parse_plan(std::make_shared<SourceText>("plan", print(plan)), *constants);
    ASSERT_TRUE(parsed) << render(parsed.error());
    EXPECT_EQ(print(*parsed), print(plan));
    EXPECT_EQ(parsed->donations, of_two_launches);
    EXPECT_NE(summary(plan).find("output 'a' in the memory of input 'w'\n"), std::string::npos) << summary(plan);
}

// ---- damage

using Change = std::function<bool(schedules::Block&)>;  // true: it is done

bool change(schedules::Block& block, const Change& done) {
    if (done(block)) return true;
    for (schedules::Statement& statement : block) {
        const bool found = std::visit(
            [&](auto& node) {
                if constexpr (requires { node.body; }) return change(node.body, done);
                return false;
            },
            statement.node);
        if (found) return true;
    }
    return false;
}

schedules::Tree& tree_to_damage(Plan& plan, const Launch& launch) {
    auto& tree = plan.trees[static_cast<size_t>(launch.tree)];
    auto copy = std::make_shared<schedules::Tree>(*tree);
    tree = copy;
    return *copy;
}

// The launch that writes output 0.
Launch& writer(Plan& plan) {
    for (Batch& batch : plan.run) {
        for (Launch& launch : batch) {
            for (int32_t b : launch.buffers) {
                const Buffer& buffer = plan.buffers[static_cast<size_t>(b)];
                if (buffer.kind == Buffer::Kind::output && buffer.index == 0) return launch;
            }
        }
    }
    return plan.run.back().back();
}

void expect_noticed(const char* what, const std::function<bool(Plan&)>& damage) {
    Plan plan = plan_of(two_launches(), {.donations = of_two_launches});
    ASSERT_TRUE(verify(plan));
    ASSERT_TRUE(plan.is_in_place({0, 0}) && plan.is_in_place({1, 2}) && plan.is_in_place({2, 3})) << print(plan);
    ASSERT_TRUE(damage(plan)) << what;
    EXPECT_EQ(codes(verify(plan)), Codes{"plan.broken"}) << what << "\n" << print(plan);
}

const auto is_store = [](const schedules::Statement& statement) {
    return std::holds_alternative<schedules::Store>(statement.node);
};

TEST(Donation, TheCheckNoticesDamage) {
    expect_noticed("a reader behind the writer", [](Plan& plan) {
        for (const Batch& batch : plan.run) {
            for (const Launch& launch : batch) {
                if (&launch == &writer(plan)) continue;
                Launch again = launch;
                for (int32_t b : launch.buffers) {
                    const Buffer& buffer = plan.buffers[static_cast<size_t>(b)];
                    if (buffer.kind != Buffer::Kind::input || (buffer.index != 0 && buffer.index != 2)) continue;
                    plan.run.push_back({again});
                    for (int32_t used : again.buffers)
                        plan.buffers[static_cast<size_t>(used)].last = static_cast<int32_t>(plan.run.size()) - 1;
                    return true;
                }
            }
        }
        return false;
    });
    expect_noticed("the writer beside a reader", [](Plan& plan) {
        if (plan.run.size() < 2) return false;
        const Launch moved = writer(plan);
        plan.run.pop_back();
        for (Batch& batch : plan.run) batch.push_back(moved);
        for (Buffer& buffer : plan.buffers) buffer.first = 0, buffer.last = static_cast<int32_t>(plan.run.size());
        return true;
    });
    expect_noticed("code that takes memories to be apart", [](Plan& plan) {
        for (auto& memory : tree_to_damage(plan, writer(plan)).memories) memory.may_alias = false;
        return true;
    });
    expect_noticed("a store before what reads", [](Plan& plan) {
        return change(tree_to_damage(plan, writer(plan)).body, [](schedules::Block& block) {
            const auto first = std::ranges::find_if(block, is_store);
            if (std::ranges::count_if(block, is_store) < 3) return false;
            std::rotate(block.begin(), first, std::next(first));
            return true;
        });
    });
    expect_noticed("a store twice", [](Plan& plan) {
        return change(tree_to_damage(plan, writer(plan)).body, [](schedules::Block& block) {
            if (std::ranges::count_if(block, is_store) < 3) return false;
            const schedules::Statement last = block.back();
            block.push_back(last);
            return true;
        });
    });
    expect_noticed("lanes that are written twice", [](Plan& plan) {
        return change(tree_to_damage(plan, writer(plan)).body, [](schedules::Block& block) {
            for (schedules::Statement& statement : block) {
                auto* lanes = std::get_if<schedules::Lanes>(&statement.node);
                if (lanes) lanes->mask = schedules::Lanes::Mask::shifted;
                if (lanes) return true;
            }
            return false;
        });
    });
    expect_noticed("another element is read", [](Plan& plan) {
        schedules::Tree& tree = tree_to_damage(plan, writer(plan));
        for (auto& e : tree.expressions) {
            if (e.kind == schedules::Expression::Kind::load && tree.memory(e.address.memory).may_alias)
                e.address.element.constant.value++;
        }
        return true;
    });
    expect_noticed("all tasks do all", [](Plan& plan) {
        Launch& launch = writer(plan);
        schedules::Tree& tree = tree_to_damage(plan, launch);
        if (tree.tasks.empty()) return false;
        using Kind = schedules::Variable::Kind;
        tree.variables.push_back({"more_begin", Kind::task_begin});
        tree.variables.push_back({"more_end", Kind::task_end});
        const auto end = last_id<schedules::VariableId>(tree.variables);
        tree.tasks.push_back({.name = "more",
                              .begin = schedules::VariableId(end - 1),
                              .end = end,
                              .extent = {false, 2},
                              .step = {false, 1},
                              .count = {false, 2},
                              .divisor = {false, launch.tasks}});
        launch.tasks *= 2;
        return true;
    });
    for (const std::vector<Donation>& wrong :
         {std::vector<Donation>{{0, 0}, {1, 0}}, {{0, 0}, {0, 2}}, {{3, 0}}, {{0, 4}}, {{0, 9}}})
        expect_noticed("no such donation", [&](Plan& plan) {
            plan.donations = wrong;
            return true;
        });
}

}  // namespace
}  // namespace heddle::plan
