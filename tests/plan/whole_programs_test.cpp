// Small programs that were once refused, computed wrongly, or ended the process: as planned, fused and unfused, they give
// what the interpreter does.
#include <gtest/gtest.h>

#include <random>

#include "evaluate/compare.h"
#include "evaluate/evaluate.h"
#include "helpers/files.h"
#include "helpers/running.h"
#include "symbolic/program.h"

namespace heddle::plan {
namespace {

const Library& operators() {
    static const Library library = library_with(file_text("tests/plan/whole_programs.yaml"));
    return library;
}

struct Given {
    std::string name;
    std::vector<int64_t> shape;
    int64_t below = 0;  // integers under it; 0: floats
};

TensorData feed(const Given& given, std::mt19937& random) {
    TensorData data(given.below > 0 ? DType::int64 : DType::float32, given.shape);
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < data.size(); i++) {
        if (given.below > 0)
            data.set_integer(i, static_cast<int64_t>(random() % static_cast<uint64_t>(given.below)));
        else
            data.set_real(i, normal(random));
    }
    return data;
}

void check(const Graph& graph, const std::vector<TensorData>& feeds) {
    auto sound = heddle::verify(graph);
    ASSERT_TRUE(sound) << render(sound.error());
    auto expected = evaluate_graph_bounded(graph, feeds);
    ASSERT_TRUE(expected) << render(expected.error());
    for (bool fuse : {true, false}) {
        auto executable = compiled(plan_of(graph, {.fuse = fuse}));
        ASSERT_TRUE(executable);
        auto found = runtime::Session(executable, std::make_shared<ThreadPool>(2)).run(feeds);
        ASSERT_TRUE(found) << render(found.error());
        for (size_t i = 0; i < found->size(); i++) {
            auto comparison = compare_bounded((*found)[i], (*expected)[static_cast<size_t>(graph.outputs[i])]);
            EXPECT_TRUE(comparison.equal) << (fuse ? "fused: " : "unfused: ") << comparison.text();
        }
    }
}

void check(const std::string& call, const std::vector<Given>& given) {
    SCOPED_TRACE(call);
    std::mt19937 random(5);
    std::vector<ProgramInput> inputs;
    std::vector<TensorData> feeds;
    for (const Given& one : given) {
        SCOPED_TRACE(testing::PrintToString(one.shape));
        inputs.push_back(
            {one.name, {one.below > 0 ? DType::int64 : DType::float32, {one.shape.begin(), one.shape.end()}}});
        feeds.push_back(feed(one, random));
    }
    auto graph = build_program(std::make_shared<SourceText>("call", call), operators(), inputs);
    ASSERT_TRUE(graph) << render(graph.error());
    check(*graph, feeds);
}

// Steps of tasks are whole panels of an operand that is packed for the lanes of one phase, whatever another phase's rows
// would like.
TEST(WholePrograms, TheLanesOfOnePhaseAreTheRowsOfAnother) {
    check("y = offset_gradient(x, W, g, a, b)", {{"x", {16, 14, 14}},
                                                 {"W", {16, 16, 3, 3}},
                                                 {"g", {16, 14, 14}},
                                                 {"a", {9, 14, 14}, 14},
                                                 {"b", {9, 14, 14}, 14}});
}

TEST(WholePrograms, AScatterThatSeveralRead) {
    check("a, b = selected_twice(x, z)", {{"x", {4, 4}}, {"z", {4, 2}}});
    check("a, b = selected_and_summed(x)", {{"x", {4, 5}}});
    check("a = summed_selection(x)", {{"x", {4, 4}}});
    check("y = scattered_beside(x, to)", {{"x", {4, 48}}, {"to", {48}, 4}});
}

TEST(WholePrograms, ScansAmongScans) {
    for (int64_t n : {0, 1, 2, 8}) {
        for (int64_t m : {0, 1, 3}) {
            const std::vector<Given> x = {{"x", {m, n}}};
            check("a, b = scans_in_turn(x)", x);
            check("a, b = scans_of_one(x)", x);
            check("z, y = scan_backwards(x)", x);
            check("y = chained(x)", x);
        }
    }
}

TEST(WholePrograms, SeveralStatesReadBehindTheirScan) {
    for (int64_t n : {1, 7}) {
        check("y = two_states(x)", {{"x", {n}}});
        check("y = crossed(x)", {{"x", {n}}});
        check("y = running_log_sum_exp(x)", {{"x", {3, n}}});
        check("m, s = deviation(x)", {{"x", {n}}});
        check("s, f = viterbi(x, w)", {{"x", {n, 3}}, {"w", {3, 3}}});
        check("y = state_space(u, e, A, B, C)",
              {{"u", {n, 3}}, {"e", {n, 3}}, {"A", {3, 4}}, {"B", {n, 4}}, {"C", {n, 4}}});
    }
}

TEST(WholePrograms, ScansOfWhichTheLastStepsAreRead) {
    for (int steps : {0, 1, 2, 3, 10}) {
        for (int back : {0, 1, 2}) {
            if (back > steps) continue;
            check("y = diffused(x, steps: " + std::to_string(steps) + ", back: " + std::to_string(back) + ")",
                  {{"x", {5, 37}}});
        }
        check("y = last_of_crossed(x, steps: " + std::to_string(steps) + ")", {{"x", {35, 3}}});
    }
}

TEST(WholePrograms, StatesThatAreReadManyStepsBack) {
    for (int64_t n : {1, 5, 40, 301}) {
        for (int64_t w : {3, 100}) check("y, z, last = echoes(x)", {{"x", {n, w}}});
    }
}

// On all sides of what a condition must pay for to be asked before a loop.
TEST(WholePrograms, ConditionsOfDataAroundReductions) {
    for (int64_t n : {1, 5, 70}) {
        for (int64_t d : {1, 3, 63, 64, 200})
            check("y, z, m, w, b = bags(x, ids)", {{"x", {9, d}}, {"ids", {n}, 11}});
    }
}

TEST(WholePrograms, UpdatesOfNoElement) {
    for (int64_t k : {1, 30})
        for (int64_t n : {1, 5, 100})
            check("y, z = masked_updates(x, f, m)", {{"x", {k}}, {"f", {k}, n + 7}, {"m", {n}}});
}

TEST(WholePrograms, IndicesThatOnlyMissingLanesAndRowsAskFor) {
    for (int64_t m : {1, 2, 5, 19, 67})
        for (int64_t n : {1, 4, 40})
            for (int64_t d : {1, 3, 35})
                check("y, z = asked_by_none(x, f, w, v)",
                      {{"x", {n}}, {"f", {n}, n}, {"w", {m}}, {"v", {n, d}}});
}

TEST(WholePrograms, TheBestOfNoTerms) {
    for (int64_t n : {1, 7, 40})
        for (int64_t d : {1, 2, 33, 200})
            check("a, b, c, y = no_place(x, f, t)", {{"x", {n, d}}, {"f", {n}, d + 1}, {"t", {n}, d + 1}});
}

TEST(WholePrograms, NumbersBehindTheEndsOfRows) {
    for (int64_t a : {2, 40})
        for (int64_t b : {3, 5})
            for (int64_t c : {1, 2, 3, 4, 7}) check("y, z = beyond_rows(x)", {{"x", {a, b, c}}});
}

TEST(WholePrograms, StepsBehindAHalfThatIsNone) {
    for (int64_t n : {1, 2, 5}) check("h = halves(x); y = add(h, b)", {{"x", {n, 33}}, {"b", {2 * n}}});
}

// A thousand steps of a megabyte each.
TEST(WholePrograms, StepsThatNobodyReadsAreNotKept) {
    auto graph = build_program(std::make_shared<SourceText>("call", "y = diffused(x, steps: 1000, back: 1)"),
                               operators(), {{"x", {DType::float32, {512, 512}}}});
    ASSERT_TRUE(graph) << render(graph.error());
    const plan::Plan plan = plan_of(*graph);
    EXPECT_LT(plan.workspace_bytes + plan.scratch_bytes, 5 << 20);
}

TEST(WholePrograms, AScanThatIsPrepared) { check("y = counted(x)", {{"x", {5}}}); }

TEST(WholePrograms, AReductionOverNoSteps) {
    for (int64_t k : {0, 2}) check("y = chosen_from_none(x, g)", {{"x", {4}}, {"g", {k}}});
}

TEST(WholePrograms, InitialValues) {
    for (int64_t n : {1, 2, 4, 5}) {
        check("y, z = never_read_back(x)", {{"x", {n}}});
        check("y = begun_by_another(x)", {{"x", {n, n}}});
        check("y, z = waited_for_together(x)", {{"x", {n}}});
        check("y = begun_by_chosen_sums(x)", {{"x", {n}}});
    }
}

// A reduction is an equation over all points, and nothing that it reads may lie outside where nobody asks for it.
TEST(WholePrograms, AFilterIsReadOnlyWhereItIsAsked) {
    for (const char* name : {"filtered_where_asked", "asked_twice", "asked_in_a_reduction", "solved_and_asked"})
        check(std::string("y = ") + name + "(x)", {{"x", {7, 3}}});
}

TEST(WholePrograms, AScatterAtEachStep) {
    for (int64_t n : {1, 7, 40})
        for (int64_t links : {1, 5, 200})
            check("y, z, u = followed_links(a, b, x, w)",
                  {{"a", {links}, n}, {"b", {links}, n}, {"x", {n}}, {"w", {links}}});
}

TEST(WholePrograms, ChecksAheadOfRounds) {
    check("y = followed_in_rounds(a, b, x)", {{"a", {500}, 200}, {"b", {500}, 200}, {"x", {200}}});
}

TEST(WholePrograms, StepsByTurns) {
    for (int64_t n : {1, 4}) check("y, z = steps_by_turns(x)", {{"x", {n, n}}});
}

TEST(WholePrograms, AFilterTakesNeutralTerms) {
    for (int64_t n : {1, 2, 7, 40}) {
        check("a, i, c, j = selected_among_infinities(x)", {{"x", {3, n}}});
        check("y, z = extremes_taken(x)", {{"x", {n}, 100}});
    }
}

// What one step reads of a constant initial state is constant, but the scan is not.
TEST(WholePrograms, OneStepFromAConstantState) {
    for (const char* layer : {"rnn", "gru", "lstm"}) {
        SCOPED_TRACE(layer);
        const int64_t gates = layer == std::string("rnn") ? 1 : layer == std::string("gru") ? 3 : 4;
        heddle::Session session(library());
        TensorId x = session.add_input("x", {DType::float32, {1, 2, 3}});
        TensorId w = session.add_constant("w", random_tensor({1, 4 * gates, 3}, 1));
        TensorId r = session.add_constant("r", random_tensor({1, 4 * gates, 4}, 2));
        TensorId h = session.add_constant("h", random_tensor({1, 2, 4}, 3));
        std::vector<Argument> arguments = {x, w, r, {}, {}, h};
        if (gates == 4) arguments.emplace_back(h);
        const TensorId y = call(session, layer, arguments);
        check(session.finish({y}), {random_tensor({1, 2, 3}, 4)});
    }
}

// A constant index outside is the model's mistake, told when it runs; where a selection skips it, it is none.
TEST(WholePrograms, AConstantIndexOutside) {
    for (int64_t rows : {1, 3}) {
        for (const std::vector<int64_t>& indices : {std::vector<int64_t>{5}, {1, 2, 3}, {-7, -9}}) {
            TensorData at(DType::int64, {static_cast<int64_t>(indices.size())});
            for (size_t i = 0; i < indices.size(); i++) at.set_integer(static_cast<int64_t>(i), indices[i]);
            heddle::Session session(library());
            TensorId x = session.add_input("x", {DType::float32, {rows}});
            const Size count = static_cast<int64_t>(indices.size());
            const TensorId y = call(session, "gather", {x, session.add_input("at", {DType::int64, {count}})});
            // Not known when the operator is applied: that would refuse it.
            Graph graph = session.finish({y});
            graph.tensors[static_cast<size_t>(graph.inputs.back())].constant = std::move(at);
            graph.inputs.pop_back();
            const std::vector<TensorData> feeds = {random_tensor({rows}, 4)};
            EXPECT_FALSE(evaluate_graph_bounded(graph, feeds));
            for (bool fuse : {true, false}) {
                auto executable = compiled(plan_of(graph, {.fuse = fuse}));
                ASSERT_TRUE(executable);
                auto found = runtime::Session(executable, std::make_shared<ThreadPool>(1)).run(feeds);
                ASSERT_FALSE(found);
                EXPECT_EQ(found.error().front().code, "runtime.index_out_of_range");
            }
        }
    }
}

}  // namespace
}  // namespace heddle::plan
