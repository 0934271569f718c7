// Stacks of random buffers whose sizes are expressions: for any sizes those that live together share no bytes, and nothing is
// higher than when each is placed for itself.
#include "plan/stack.h"

#include <gtest/gtest.h>

#include <random>

#include "plan/memory.h"
#include "zspace/size_facts.h"

namespace heddle::plan {
namespace {

using Names = std::map<std::string, int64_t>;

// Buffers with lifetimes, over n and m.
Plan random_plan(uint32_t seed, const Names& names) {
    std::mt19937 random(seed);
    Plan plan;
    plan.names = names;
    plan.run.resize(20);
    const Size n = named_size("n", names.at("n")), m = named_size("m", names.at("m"));
    for (int b = 0; b < 40; b++) {
        const auto factor = static_cast<int64_t>(1 + random() % 60);
        const Size bytes[] = {factor * 1000, n * factor, n * m * factor, (n + 3) / 4 * factor * m, m * (factor + 8)};
        Buffer buffer{.name = "b" + std::to_string(b), .bytes = bytes[random() % std::size(bytes)]};
        buffer.first = static_cast<int32_t>(random() % 18);
        buffer.last = std::min<int32_t>(19, buffer.first + static_cast<int32_t>(random() % 6));
        if (random() % 12 == 0) buffer.first = buffer.last = -1;
        if (random() % 12 == 0) buffer.kind = Buffer::Kind::prepared;
        plan.buffers.push_back(std::move(buffer));
    }
    return plan;
}

// Of the present sizes, by their own numbers alone.
int64_t height_of_lowest_places(Plan plan) {
    plan.names.clear();
    place_memory(plan, false);
    return plan.workspace_bytes;
}

void set_sizes(Plan& plan, const Names& names) {
    for (Buffer& buffer : plan.buffers) buffer.bytes = Size(buffer.bytes.at(names), buffer.bytes.origin());
    place_again(plan);
}

void expect_apart(const Plan& plan, const std::string& where) {
    for (size_t i = 0; i < plan.stack.size(); i++) {
        const Buffer& a = plan.buffers[static_cast<size_t>(plan.stack[i].buffer)];
        EXPECT_EQ(a.offset % 64, 0) << where;
        EXPECT_LE(a.offset + a.bytes.number() + 64, plan.workspace_bytes) << where;
        for (size_t j = 0; j < i; j++) {
            const Buffer& b = plan.buffers[static_cast<size_t>(plan.stack[j].buffer)];
            const bool together = a.first <= b.last && b.first <= a.last;
            const bool apart = a.offset >= b.offset + b.bytes.number() + 64 || b.offset >= a.offset + a.bytes.number() + 64;
            EXPECT_TRUE(!together || apart) << where << ": " << a.name << " and " << b.name;
        }
    }
}

TEST(Stack, holds_for_all_sizes) {
    for (uint32_t seed = 0; seed < 40; seed++) {
        const Names representatives = {{"n", 32}, {"m", 8}};
        Plan plan = random_plan(seed, representatives);
        place_memory(plan, false);
        EXPECT_FALSE(problem_of_stack(plan)) << seed;
        for (const Names& names : {representatives, Names{{"n", 16}, {"m", 4}}, Names{{"n", 255}, {"m", 15}}, Names{{"n", 16}, {"m", 15}},
                                   Names{{"n", 0}, {"m", 0}}, Names{{"n", 100'000}, {"m", 1}}}) {
            set_sizes(plan, names);
            const std::string where = "seed " + std::to_string(seed) + " at " + std::to_string(names.at("n"));
            expect_apart(plan, where);
            if (names == representatives) {
                EXPECT_LE(plan.workspace_bytes, height_of_lowest_places(plan)) << where;
            }
        }
    }
}

// Whatever size of a class comes first.
TEST(Stack, is_that_of_the_class) {
    for (uint32_t seed = 0; seed < 20; seed++) {
        Plan a = random_plan(seed, {{"n", 17}, {"m", 4}}), b = random_plan(seed, {{"n", 200}, {"m", 14}});
        place_memory(a, false);
        place_memory(b, false);
        set_sizes(a, b.names);
        ASSERT_EQ(a.stack.size(), b.stack.size());
        for (size_t i = 0; i < a.stack.size(); i++) {
            EXPECT_EQ(a.stack[i].buffer, b.stack[i].buffer);
            EXPECT_EQ(a.stack[i].below, b.stack[i].below);
        }
        EXPECT_EQ(a.workspace_bytes, b.workspace_bytes);
    }
}

TEST(Stack, tells_no_fact) {
    SizeFacts facts;
    const RecordingFacts recording(facts);
    Plan plan = random_plan(3, {{"n", 40}, {"m", 8}});
    const size_t before = facts.list().size();
    place_memory(plan, false);
    EXPECT_EQ(facts.list().size(), before);
}

TEST(Stack, the_workspace_is_an_expression) {
    int written = 0;
    for (uint32_t seed = 0; seed < 40; seed++) {
        Plan plan = random_plan(seed, {{"n", 32}, {"m", 8}});
        place_memory(plan, false);
        const auto sums = workspace_expressions(plan, most_workspace_sums);
        if (!sums) continue;
        written++;
        for (const Names& names : {Names{{"n", 32}, {"m", 8}}, Names{{"n", 16}, {"m", 4}}, Names{{"n", 255}, {"m", 15}}, Names{{"n", 77}, {"m", 9}}}) {
            set_sizes(plan, names);
            int64_t most = 0;
            for (const Size& sum : *sums) most = std::max(most, sum.at(names));
            EXPECT_EQ(plan.workspace_bytes, most) << "seed " << seed << " at " << names.at("n");
        }
    }
    EXPECT_GT(written, 5);
}

TEST(Stack, what_is_wrong_is_noticed) {
    const auto problem = [](auto&& spoil) -> std::string {
        Plan plan = random_plan(5, {{"n", 32}, {"m", 8}});
        place_memory(plan, false);
        spoil(plan);
        const auto found = problem_of_stack(plan);
        return found ? found->what : "";
    };
    const auto says = [&](const char* what, auto&& spoil) { EXPECT_NE(problem(spoil).find(what), std::string::npos) << what; };
    EXPECT_EQ(problem([](Plan&) {}), "");
    says("leaves a buffer out", [](Plan& p) { p.stack.pop_back(); });
    says("one twice", [](Plan& p) { p.stack.push_back(p.stack.front()); });
    says("no buffer of the workspace", [](Plan& p) { p.stack.front().buffer = 99; });
    says("no buffer of the workspace", [](Plan& p) { p.stack.front().buffer = -1; });
    says("no buffer of the workspace", [](Plan& p) { p.buffers[static_cast<size_t>(p.stack.front().buffer)].kind = Buffer::Kind::prepared; });
    says("does not come before", [](Plan& p) { p.stack.front().below = {p.stack.back().buffer}; });
    says("does not come before", [](Plan& p) { p.stack.front().below = {p.stack.front().buffer}; });
    says("does not come before", [](Plan& p) { p.stack.back().below = {99}; });
    says("neither lies above", [](Plan& p) { p.stack.back().below.clear(); });
    says("neither lies above", [](Plan& p) {
        for (Buffer& buffer : p.buffers) {
            if (buffer.first >= 0) buffer.first = 0, buffer.last = 19;
        }
    });
    int noticed = 0, taken = 0;  // each that is named is needed
    for (size_t i = 0;; i++) {
        Plan plan = random_plan(5, {{"n", 32}, {"m", 8}});
        place_memory(plan, false);
        if (i == plan.stack.size()) break;
        for (size_t b = 0; b < plan.stack[i].below.size(); b++) {
            Plan spoilt = plan;
            spoilt.stack[i].below.erase(spoilt.stack[i].below.begin() + static_cast<std::ptrdiff_t>(b));
            taken++;
            noticed += problem_of_stack(spoilt).has_value();
        }
    }
    EXPECT_EQ(noticed, taken);
    EXPECT_GT(taken, 20);
}

}  // namespace
}  // namespace heddle::plan
