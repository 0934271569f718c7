// What is kept and what is worked out again, beside all choices.
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "gradient/budget_cut.h"
#include "gradient_cases.h"
#include "splits.h"

namespace heddle::gradient {
namespace {

using Kind = TapePolicy::Kind;

struct Cost {
    int64_t keep = 0, again = 0;  // `never` where something asked for is not there
};

// What is worked out again is all that is asked for and is not kept.
Cost cost_of(const std::vector<CutValue>& values, uint32_t kept) {
    Cost cost;
    std::vector<bool> asked(values.size());
    for (size_t i = values.size(); i-- > 0;) {
        const bool is_kept = kept >> i & 1;
        if (is_kept) cost.keep = std::min(never, cost.keep + values[i].keep);
        if (is_kept || (!values[i].needed && !asked[i])) continue;
        cost.again = std::min(never, cost.again + values[i].again);
        for (size_t input : values[i].inputs) asked[input] = true;
    }
    return cost;
}

std::vector<CutValue> random_values(std::mt19937& random, size_t most) {
    std::vector<CutValue> values(3 + random() % (most - 2));
    for (size_t i = 0; i < values.size(); ++i) {
        for (size_t j = 0; j < i; ++j)
            if (random() % 3 == 0) values[i].inputs.push_back(j);
        values[i].keep = static_cast<int64_t>(random() % 20);
        values[i].again = values[i].inputs.empty() && random() % 2 == 0 ? never : static_cast<int64_t>(random() % 20);
        values[i].needed = random() % 3 == 0;
    }
    return values;
}

uint32_t bits(const std::vector<bool>& kept) {
    uint32_t all = 0;
    for (size_t i = 0; i < kept.size(); ++i) all |= uint32_t{kept[i]} << i;
    return all;
}

TEST(CompileJobs15, ACutIsTheLeastOfAllChoices) {
    std::mt19937 random(1);
    for (int trial = 0; trial < 1000; ++trial) {
        const std::vector<CutValue> values = random_values(random, 9);
        const auto sum = [&](uint32_t kept) {
            const Cost cost = cost_of(values, kept);
            return std::min(never, cost.keep + cost.again);
        };
        int64_t least = never;
        for (uint32_t other = 0; other < 1u << values.size(); ++other) least = std::min(least, sum(other));
        ASSERT_EQ(sum(bits(cheapest_to_keep(values))), least) << trial;
    }
}

// Of all choices within the budget the least work; nothing if there is none. Where the search may not branch, it is
// within the budget, too, and no value that would save work has room beside it.
TEST(CompileJobs15, OfAllChoicesWithinABudgetItIsTheLeastWork) {
    std::mt19937 random(2);
    int between = 0;  // the budget decides
    for (int trial = 0; trial < 2000; ++trial) {
        const std::vector<CutValue> values = random_values(random, 11);
        const int64_t budget = static_cast<int64_t>(random() % 60);
        int64_t least = never, any = never;
        for (uint32_t other = 0; other < 1u << values.size(); ++other) {
            const Cost cost = cost_of(values, other);
            any = std::min(any, cost.again);
            if (cost.keep <= budget) least = std::min(least, cost.again);
        }
        between += least < never && any < least ? 1 : 0;
        const auto found = cheapest_within(values, budget), quick = cheapest_within(values, budget, 1);
        ASSERT_EQ(found.has_value(), least < never) << trial;
        ASSERT_EQ(quick.has_value(), least < never) << trial;
        if (!found) continue;
        ASSERT_LE(cost_of(values, bits(*found)).keep, budget) << trial;
        ASSERT_EQ(cost_of(values, bits(*found)).again, least) << trial;
        const Cost cost = cost_of(values, bits(*quick));
        ASSERT_LE(cost.keep, budget) << trial;
        for (size_t i = 0; i < values.size(); ++i) {
            const Cost more = cost_of(values, bits(*quick) | 1u << i);
            ASSERT_TRUE(more.keep > budget || more.again >= cost.again) << trial << ", " << i;
        }
    }
    EXPECT_GT(between, 400);
}

// Chains and joins of rows, columns and whole tables, so that values take different bytes.
Case random_program(std::mt19937& random) {
    Case one{"", {{"a", {4, 1}}, {"b", {1, 64}}}};
    std::vector<std::string> values = {"a", "b"};
    const size_t operations = 4 + random() % 4;
    for (size_t i = 0; i < operations; ++i) {
        const char* const functions[] = {"exp", "sin", "tanh", "gelu"};
        const auto recent = [&] { return values[values.size() - 1 - random() % std::min<size_t>(values.size(), 3)]; };
        const std::string name = i + 1 == operations ? "y" : "v" + std::to_string(i);
        const std::string first = recent();
        one.text += random() % 3 == 0 ? fmt::format("{} = mul({}, {}); ", name, first, recent())
                                      : fmt::format("{} = {}({}); ", name, functions[random() % 4], first);
        values.push_back(name);
    }
    return one;
}

struct Tape {
    int64_t bytes = 0, again = 0;
};

// What the reverse program works out of the forward one's values again, by what each takes.
Tape tape_of(const Graph& graph, TapePolicy policy, const std::map<std::string, int64_t>& operations) {
    auto made = split(graph, {float_inputs(graph), {}, std::move(policy)});
    EXPECT_TRUE(made) << render(made.error());
    if (!made) return {never, never};
    Tape tape{made->tape.bytes, 0};
    for (const Operation& operation : made->reverse.operations) {
        for (TensorId id : operation.outputs) {
            const auto found = operations.find(made->reverse.tensor(id).name);
            if (found != operations.end()) tape.again += found->second;
        }
    }
    return tape;
}

// As above, of whole programs: whatever values are kept, within the same bytes nothing takes less to work out again.
TEST(CompileJobs15, NoTapeWithinABudgetTakesLessWork) {
    std::mt19937 random(3);
    int between = 0;
    for (int trial = 0; trial < 300; ++trial) {
        const Case one = random_program(random);
        const Graph graph = program(one, DType::float32);
        std::map<std::string, int64_t> operations;
        const auto collect = [&](const TapeCandidate& value) {
            operations.emplace(value.name, value.operations);
            return false;
        };
        tape_of(graph, {.kind = Kind::chosen, .keeps = collect}, {});
        for (TensorId id : graph.inputs) operations.erase(graph.tensor(id).name);
        if (operations.size() > 8) continue;
        std::vector<Tape> tapes;
        for (uint32_t kept = 0; kept < 1u << operations.size(); ++kept) {
            const auto keeps = [&](const TapeCandidate& value) {
                const auto place = std::distance(operations.begin(), operations.find(value.name));
                return operations.contains(value.name) && (kept >> place & 1) != 0;
            };
            tapes.push_back(tape_of(graph, {.kind = Kind::chosen, .keeps = keeps}, operations));
        }
        for (int64_t budget : {0, 64, 256, 320, 1024, 1344, 2112}) {
            int64_t least = never;
            for (const Tape& tape : tapes)
                if (tape.bytes <= budget) least = std::min(least, tape.again);
            const Tape tape = tape_of(graph, {.kind = Kind::budget, .bytes = budget}, operations);
            EXPECT_LE(tape.bytes, budget) << one.text;
            EXPECT_EQ(tape.again, least) << one.text << budget;
            between += tape.bytes > 0 && least > 0 ? 1 : 0;
        }
    }
    EXPECT_GT(between, 250);
}

}  // namespace
}  // namespace heddle::gradient
