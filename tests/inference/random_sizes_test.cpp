// Instantiated = planned: a random program's plan that was made for some sizes, and holds for others, is sound there and
// computes what the plan made there does.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "helpers/sized_programs.h"
#include "inference/program_cache.h"
#include "plan/class_proof.h"
#include "plan/instantiate.h"
#include "plan/numbers.h"

namespace heddle::inference {
namespace {

// How many programs, when there is time (docs/developing.md), and from which on.
uint64_t number_from(const char* variable, uint64_t otherwise) {
    const char* text = std::getenv(variable);
    return text ? static_cast<uint64_t>(std::atoll(text)) : otherwise;
}

// Of one class mostly; ends of classes, none and one.
SizeNames random_sizes(std::mt19937_64& random) {
    const auto size = [&]() -> int64_t {
        constexpr int64_t special[] = {0, 1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33};
        if (random() % 4 == 0) return special[random() % std::size(special)];
        return 16 + static_cast<int64_t>(random() % 40);
    };
    SizeNames sizes = {{"n", size()}, {"m", size()}};
    if (random() % 8 == 0) sizes[random() % 2 ? "n" : "m"] = random() % 2 ? 255 : 256;
    if (random() % 6 == 0) sizes["n"] = sizes["m"];
    return sizes;
}

std::string text_of(const SizeNames& sizes) {
    return "n = " + std::to_string(sizes.at("n")) + ", m = " + std::to_string(sizes.at("m"));
}

std::vector<TensorData> inputs_of(const std::vector<TensorType>& types, uint64_t seed) {
    std::vector<TensorData> inputs;
    for (const TensorType& type : types) inputs.push_back(random_tensor(numbers_of(type.shape), seed++));
    return inputs;
}

std::optional<plan::Plan> planned(const Graph& graph, const std::string& where) {
    auto plan = plan::make_plan(graph, detect_host());
    EXPECT_TRUE(plan) << where << (plan ? "" : render(plan.error()));
    if (!plan) return std::nullopt;
    EXPECT_TRUE(plan->notes.empty()) << where << render(plan->notes);
    return std::move(*plan);
}

Result<std::vector<TensorData>> run(plan::Plan plan, const std::vector<TensorData>& inputs, Engine& engine) {
    auto executable = runtime::Executable::make(std::move(plan), *engine.kernels, *engine.pool);
    if (!executable) return fail(std::move(executable.error()));
    return runtime::Session(*executable, engine.pool, engine.arena).run(inputs);
}

void expect_same(const std::vector<TensorData>& found, const std::vector<TensorData>& wanted, const std::string& where) {
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t o = 0; o < wanted.size(); o++) {
        ASSERT_EQ(found[o].shape(), wanted[o].shape()) << where;
        EXPECT_EQ(std::memcmp(found[o].data(), wanted[o].data(), static_cast<size_t>(wanted[o].byte_size())), 0)
            << where << ", output " << o;
    }
}

// The text has all that other sizes need.
void expect_read_again(const plan::Plan& plan, const Graph& graph, const std::string& where) {
    const auto constants = plan::constants_of(graph);
    ASSERT_TRUE(constants) << where;
    const std::string text = print(plan);
    const auto again = plan::parse_plan(std::make_shared<SourceText>("plan", text), *constants);
    ASSERT_TRUE(again) << where << render(again.error());
    EXPECT_EQ(print(*again), text) << where;
    EXPECT_EQ(again->names, plan.names) << where;
    EXPECT_TRUE(again->facts && again->facts->list() == plan.facts->list()) << where;
}

struct Count {
    uint64_t pairs = 0, held = 0, alike = 0;  // a program at sizes; where the first plan holds; where the texts are the same
};

void compare(uint64_t seed, Engine& engine, Count& count, SizedProgram::Forms forms = SizedProgram::Forms::common) {
    SizedProgram program(seed, forms);
    std::mt19937_64 random(seed + 1);
    std::optional<Graph> first;
    for (int i = 0; i < 4 && !first; i++) first = program.at(random_sizes(random));
    if (!first) return;
    const std::string of = "seed " + std::to_string(seed) + ":" + program.applied() + ", planned at " + text_of(first->dimension_names);
    const auto generic = planned(*first, of);
    if (!generic) return;
    ASSERT_TRUE(generic->facts);
    expect_read_again(*generic, *first, of);
    for (int i = 0; i < 6; i++) {
        const SizeNames sizes = random_sizes(random);
        const std::string where = of + ", used at " + text_of(sizes);
        count.pairs++;
        if (generic->facts->broken_by(sizes)) continue;
        count.held++;
        const auto graph = program.at(sizes);
        plan::Plan plan = *generic;
        ASSERT_TRUE(plan::instantiate(plan, sizes)) << where;
        const auto sound = verify(plan);
        ASSERT_TRUE(sound) << where << (sound ? "" : render(sound.error()));
        if (!graph) {  // an index that is outside only there is found when it runs
            std::vector<TensorData> inputs = inputs_of(plan.input_types, seed);
            ASSERT_FALSE(run(std::move(plan), inputs, engine)) << where << ": no such program: " << program.refusal();
            continue;
        }
        auto alone = planned(*graph, where);
        if (!alone) return;
        count.alike += print(plan) == print(*alone);
        const std::vector<TensorData> inputs = inputs_of(plan.input_types, seed);
        plan::Numbers numbers(*generic);
        ASSERT_TRUE(plan::SizedPlan(*generic).resize(numbers, inputs, sizes)) << where;
        EXPECT_TRUE(numbers == plan::Numbers(plan)) << where << ": a run has other numbers than the plan";
        const auto found = run(std::move(plan), inputs, engine), wanted = run(std::move(*alone), inputs, engine);
        ASSERT_EQ(found.has_value(), wanted.has_value()) << where;
        if (found) expect_same(*found, *wanted, where);
    }
}

void compare_many(SizedProgram::Forms forms) {
    const auto engine = make_engine(2);
    const uint64_t from = number_from("HEDDLE_TEST_SEED", 1), count = number_from("HEDDLE_TEST_COUNT", 25);
    Count all;
    for (uint64_t seed = from; seed < from + count && !testing::Test::HasFatalFailure(); seed++) compare(seed, *engine, all, forms);
    std::printf("%llu programs at other sizes, %llu of them by the first one's plan, %llu alike in all numbers\n",
                static_cast<unsigned long long>(all.pairs), static_cast<unsigned long long>(all.held), static_cast<unsigned long long>(all.alike));
    EXPECT_GT(all.held, all.pairs / 20);
}

TEST(RandomSizes, an_instantiated_plan_is_the_one_planned_there) { compare_many(SizedProgram::Forms::common); }
TEST(RandomSizes, of_forms_that_hold_for_a_class) { compare_many(SizedProgram::Forms::of_class); }

// For all sizes of their classes at once. What is left is said, and little.
TEST(RandomSizes, are_proved_for_their_classes) {
    const uint64_t from = number_from("HEDDLE_TEST_SEED", 1), count = number_from("HEDDLE_TEST_COUNT", 25);
    int64_t statements = 0, unproved = 0, programs = 0, whole = 0;
    for (uint64_t seed = from; seed < from + count; seed++) {
        SizedProgram program(seed, SizedProgram::Forms::common);
        const auto graph = program.at({{"n", 40}, {"m", 23}});
        const auto plan = graph ? planned(*graph, "seed " + std::to_string(seed)) : std::nullopt;
        if (!plan) continue;
        const plan::ClassProof proof = plan::prove_class(*plan);
        programs++;
        whole += proof.unproved.empty();
        statements += proof.statements;
        unproved += static_cast<int64_t>(proof.unproved.size());
        if (number_from("HEDDLE_TEST_SHOW", 0) > 0) {
            for (const std::string& what : proof.unproved) std::printf("seed %llu: %.400s\n", static_cast<unsigned long long>(seed), what.c_str());
        }
    }
    std::printf("%lld programs, %lld of them proved; %lld of %lld statements are not\n", static_cast<long long>(programs),
                static_cast<long long>(whole), static_cast<long long>(unproved), static_cast<long long>(statements));
    EXPECT_LT(unproved * 100, statements * 3);
}

TEST(RandomSizes, what_was_wrong_once) {
    const auto engine = make_engine(2);
    Count all;
    for (uint64_t seed : {2173, 4967, 5575}) compare(seed, *engine, all);  // margins: their code was chosen by a size's class
    compare(38, *engine, all);    // a workspace of few sums, from more on the way: its plan's text was not read
    compare(8388, *engine, all);  // an index that is outside at a size of one
    for (uint64_t seed : {1004, 1049}) compare(seed, *engine, all);  // their plans were not read again
    compare(3217, *engine, all);  // what was asked for ahead was at points of loops that had not begun
    for (uint64_t seed : {3144, 7255, 2506, 5363}) compare(seed, *engine, all);  // sums of a workspace came in another order
    for (uint64_t seed : {7255, 2506, 5363}) compare(seed, *engine, all, SizedProgram::Forms::of_class);
    compare(9415, *engine, all, SizedProgram::Forms::of_class);  // costs of an axis that is empty at the representative
    compare(30118, *engine, all);                                // a quotient that was simpler when it was read again
    EXPECT_GT(all.pairs, 0u);
}

}  // namespace
}  // namespace heddle::inference
