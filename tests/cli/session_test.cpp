// Sessions of running code: what they refuse, what they survive, and that threads change no bit.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "evaluate/evaluate.h"
#include "helpers/codes.h"
#include "helpers/running.h"

namespace heddle::runtime {
namespace {

// softmax(relu(x w) v) and the sum of all of x.
Graph some_graph(int64_t rows) {
    heddle::Session session(library());
    TensorId x = session.add_input("x", {DType::float32, {rows, 40}});
    TensorId h = call(session, "relu",
                      {call(session, "numpy_matmul", {x, session.add_constant("w", random_tensor({40, 70}, 1))})});
    TensorId y = call(session, "softmax",
                      {call(session, "numpy_matmul", {h, session.add_constant("v", random_tensor({70, 30}, 2))})});
    TensorId s = call(session, "reduce_sum", {x}, {{"axes", StaticValue::of_integers({0, 1})}});
    return session.finish({y, s});
}

// x as `shape` says, and the shape itself.
TensorData integers(const std::vector<int64_t>& values) {
    TensorData data(DType::int64, {static_cast<int64_t>(values.size())});
    for (size_t i = 0; i < values.size(); i++) data.set_integer(static_cast<int64_t>(i), values[i]);
    return data;
}
Graph decided_graph(const std::vector<int64_t>& sizes) {
    TensorData value = integers(sizes);
    heddle::Session session(library());
    TensorId x = session.add_input("x", {DType::float32, {2, 6}});
    TensorId shape = session.add_input("shape", {DType::int64, {value.size()}});
    session.offer_value(shape, value);
    auto reshape = library().find_onnx("", "Reshape", 14);
    EXPECT_TRUE(reshape);
    auto made = session.apply(**reshape, {x, shape}, {});
    EXPECT_TRUE(made) << render(made.error());
    if (!made) return {};
    return session.finish({call(session, "exp", {made->front()}), shape});
}

Graph gather_graph() {
    heddle::Session session(library());
    TensorId ids = session.add_input("ids", {DType::int64, {50}});
    TensorId table = session.add_constant("table", random_tensor({7, 20}, 3));
    return session.finish({call(session, "exp", {call(session, "gather", {table, ids})})});
}

bool same_bits(const std::vector<TensorData>& a, const std::vector<TensorData>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); i++) {
        if (a[i].shape() != b[i].shape() ||
            std::memcmp(a[i].data(), b[i].data(), static_cast<size_t>(a[i].byte_size())) != 0)
            return false;
    }
    return true;
}

TEST(RuntimeSession, refuses_inputs_that_do_not_fit) {
    auto executable = compiled(plan_of(some_graph(5)));
    ASSERT_TRUE(executable);
    Session session(executable, std::make_shared<ThreadPool>(1));
    EXPECT_EQ(codes(session.run({})), Codes{"runtime.input_count"});
    EXPECT_EQ(codes(session.run({random_tensor({5, 40}, 1), random_tensor({5, 40}, 1)})), Codes{"runtime.input_count"});
    EXPECT_EQ(codes(session.run({TensorData(DType::float64, {5, 40})})), Codes{"runtime.input_dtype"});
    EXPECT_EQ(codes(session.run({TensorData(DType::float32, {40, 5})})), Codes{"runtime.input_shape"});
    EXPECT_EQ(codes(session.run({TensorData(DType::float32, {5, 40, 1})})), Codes{"runtime.input_shape"});
    EXPECT_TRUE(session.run({random_tensor({5, 40}, 1)}));
}

TEST(RuntimeSession, refuses_another_value_than_the_program_holds_for) {
    Graph graph = decided_graph({3, 4});
    // A text has the value by the input's name, as it has constants.
    auto constants = plan::constants_of(graph);
    ASSERT_TRUE(constants) << render(constants.error());
    std::string text = print(plan_of(graph));
    EXPECT_NE(text.find("input 1 'shape': int64[2] decided"), std::string::npos) << text;
    auto source = std::make_shared<SourceText>("plan", text);
    auto parsed = plan::parse_plan(source, *constants);
    ASSERT_TRUE(parsed) << render(parsed.error());
    EXPECT_EQ(print(*parsed), text);
    constants->erase("shape");
    EXPECT_EQ(codes(plan::parse_plan(source, *constants)).at(0), "plan.constant");

    TensorData x = random_tensor({2, 6}, 1);
    for (plan::Plan plan : {plan_of(graph), *parsed}) {
        KernelCache cache(std::make_shared<backends::LlvmBackend>());
        auto pool = std::make_shared<ThreadPool>(1);
        auto executable = Executable::make(std::move(plan), cache, *pool);
        ASSERT_TRUE(executable) << render(executable.error());
        Session session(*executable, pool);
        auto fine = session.run({x, integers({3, 4})});
        ASSERT_TRUE(fine) << render(fine.error());
        EXPECT_EQ((*fine)[0].shape(), (std::vector<int64_t>{3, 4}));
        EXPECT_EQ((*fine)[1].integer_at(1), 4) << "it is an output too";
        auto other = session.run({x, integers({4, 3})});
        ASSERT_EQ(codes(other), Codes{"runtime.decided_input"});
        EXPECT_EQ(other.error().front().expected, "3 4");
        EXPECT_EQ(other.error().front().found, "4 3");
    }
    EXPECT_TRUE(evaluate_graph(graph, {x, integers({3, 4})}, Precision::body));
    EXPECT_EQ(codes(evaluate_graph(graph, {x, integers({4, 3})}, Precision::body)), Codes{"evaluate.mismatch"});
}

TEST(RuntimeSession, an_index_out_of_range_and_then_a_good_run) {
    auto executable = compiled(plan_of(gather_graph()));
    ASSERT_TRUE(executable);
    for (int threads : {1, 2, 4}) {
        Session session(executable, std::make_shared<ThreadPool>(threads));
        TensorData ids(DType::int64, {50});
        for (int64_t i = 0; i < 50; i++) ids.set_integer(i, i % 7);
        auto before = session.run({ids});
        ASSERT_TRUE(before) << render(before.error());
        for (int64_t wrong : {int64_t{7}, int64_t{-8}, INT64_MAX, INT64_MIN}) {
            for (int64_t at : {0, 23, 49}) {
                TensorData bad = ids.clone();
                bad.set_integer(at, wrong);
                auto failed = session.run({bad});
                ASSERT_EQ(codes(failed), Codes{"runtime.index_out_of_range"}) << wrong << " at " << at;
                const Diagnostic& problem = failed.error().front();
                EXPECT_EQ(problem.expected, "0 <= index < 7");
                // A negative index counts from the end before it is checked.
                EXPECT_EQ(problem.found, std::to_string(wrong < 0 ? wrong + 7 : wrong));
            }
        }
        auto after = session.run({ids});
        ASSERT_TRUE(after) << render(after.error());
        EXPECT_TRUE(same_bits(*before, *after));
    }
}

// What a condition guards is neither read nor checked where it does not hold: nor is a coordinate of it that is read.
TEST(RuntimeSession, an_index_of_an_index_behind_a_condition) {
    Library own = library_of(
        "pick:\n  inputs: {at: \"int64[$n]\", column: \"int64[$n]\", table: \"$T[$m]\"}\n  index: \"[$n]\"\n"
        "  outputs: {y: \"$T\"}\n  body: \"y = at < $n ? table[column[at]] : 0\"\n");
    heddle::Session session(own);
    std::vector<TensorId> inputs = {session.add_input("at", {DType::int64, {40}}),
                                    session.add_input("column", {DType::int64, {40}}),
                                    session.add_input("table", {DType::float32, {7}})};
    auto made = session.apply(**own.find("pick"), {inputs[0], inputs[1], inputs[2]}, {});
    ASSERT_TRUE(made) << render(made.error());
    Graph graph = session.finish(*made);
    TensorData at(DType::int64, {40}), column(DType::int64, {40}), table = random_tensor({7}, 5);
    for (int64_t i = 0; i < 40; i++) {
        at.set_integer(i, i % 3 ? 39 - i : 40 + i);
        column.set_integer(i, i % 7);
    }
    auto expected = evaluate_graph(graph, {at, column, table}, Precision::body);
    ASSERT_TRUE(expected) << render(expected.error());
    auto executable = compiled(plan_of(graph));
    ASSERT_TRUE(executable);
    Session running(executable, std::make_shared<ThreadPool>(1));
    auto found = running.run({at, column, table});
    ASSERT_TRUE(found) << render(found.error());
    EXPECT_TRUE(same_bits(*found, {(*expected)[static_cast<size_t>(graph.outputs[0])]}));
    at.set_integer(7, -1);
    EXPECT_EQ(codes(running.run({at, column, table})), Codes{"runtime.index_out_of_range"});
    at.set_integer(7, 0);
    column.set_integer(0, 7);
    EXPECT_EQ(codes(running.run({at, column, table})), Codes{"runtime.index_out_of_range"});
}

// Of many wrong indices the first is told, whoever found it.
TEST(RuntimeSession, the_first_wrong_index_is_told) {
    auto executable = compiled(plan_of(gather_graph()));
    ASSERT_TRUE(executable);
    TensorData ids(DType::int64, {50});
    for (int64_t i = 5; i < 50; i++) ids.set_integer(i, 100 + i);
    for (int threads : {1, 2, 4}) {
        Session session(executable, std::make_shared<ThreadPool>(threads));
        for (int repeat = 0; repeat < 30; repeat++) {
            auto failed = session.run({ids});
            ASSERT_EQ(codes(failed), Codes{"runtime.index_out_of_range"});
            EXPECT_EQ(failed.error().front().found, "105") << threads << " threads";
        }
    }
}

TEST(RuntimeSession, results_do_not_depend_on_the_number_of_threads) {
    std::vector<TensorData> inputs{random_tensor({67, 40}, 9)};
    std::vector<TensorData> first;
    for (int threads = 1; threads <= 4; threads++) {
        auto executable = compiled(plan_of(some_graph(67)), threads);
        ASSERT_TRUE(executable);
        Session session(executable, std::make_shared<ThreadPool>(threads));
        for (int repeat = 0; repeat < 3; repeat++) {
            auto found = session.run(inputs);
            ASSERT_TRUE(found) << render(found.error());
            if (first.empty()) first = *found;
            EXPECT_TRUE(same_bits(first, *found)) << threads << " threads";
        }
    }
}

TEST(RuntimeSession, two_sessions_of_one_executable_in_two_threads) {
    auto executable = compiled(plan_of(some_graph(33)));
    ASSERT_TRUE(executable);
    std::vector<TensorData> inputs[2] = {{random_tensor({33, 40}, 1)}, {random_tensor({33, 40}, 2)}};
    std::vector<TensorData> expected[2];
    for (size_t i = 0; i < 2; i++) expected[i] = *Session(executable, std::make_shared<ThreadPool>(1)).run(inputs[i]);
    EXPECT_FALSE(same_bits(expected[0], expected[1]));
    bool fine[2] = {true, true};
    std::vector<std::thread> threads;
    for (size_t i = 0; i < 2; i++) {
        threads.emplace_back([&, i] {
            Session session(executable, std::make_shared<ThreadPool>(2));
            for (int repeat = 0; repeat < 20; repeat++) {
                auto found = session.run(inputs[i]);
                fine[i] &= found && same_bits(*found, expected[i]);
            }
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_TRUE(fine[0]);
    EXPECT_TRUE(fine[1]);
}

TEST(RuntimeSession, into_memory_that_is_there) {
    auto executable = compiled(plan_of(some_graph(5)));
    ASSERT_TRUE(executable);
    Session session(executable, std::make_shared<ThreadPool>(2));
    std::vector<TensorData> inputs{random_tensor({5, 40}, 4)};
    auto outputs = session.make_outputs();
    const std::byte* place = outputs[0].data();
    ASSERT_TRUE(session.run(inputs, outputs));
    EXPECT_EQ(outputs[0].data(), place);
    EXPECT_TRUE(same_bits(outputs, *session.run(inputs)));
    EXPECT_GE(session.bytes(), executable->plan().workspace_bytes);
    EXPECT_GT(executable->resident_bytes(), 40 * 70 * 4);
}

TEST(RuntimeSession, a_profile_names_every_launch) {
    auto executable = compiled(plan_of(some_graph(5)));
    ASSERT_TRUE(executable);
    Session session(executable, std::make_shared<ThreadPool>(2));
    std::vector<TensorData> inputs{random_tensor({5, 40}, 4)};
    auto plain = session.run(inputs);
    std::vector<LaunchTime> profile;
    session.set_profile(&profile);
    auto timed = session.run(inputs);
    ASSERT_TRUE(plain && timed);
    EXPECT_TRUE(same_bits(*plain, *timed));
    size_t launches = 0;
    for (const auto& batch : executable->plan().run) launches += batch.size();
    EXPECT_EQ(profile.size(), launches);
    for (const auto& time : profile) EXPECT_GE(time.microseconds, 0);
}

TEST(KernelCache, a_second_plan_compiles_nothing) {
    KernelCache cache(std::make_shared<backends::LlvmBackend>());
    ThreadPool pool(2);
    auto first = Executable::make(plan_of(some_graph(33)), cache, pool);
    ASSERT_TRUE(first) << render(first.error());
    EXPECT_EQ((*first)->kernels().compiled, static_cast<int64_t>((*first)->plan().trees.size()));
    auto second = Executable::make(plan_of(some_graph(33)), cache, pool);
    ASSERT_TRUE(second);
    EXPECT_EQ((*second)->kernels().compiled, 0);
}

}  // namespace
}  // namespace heddle::runtime
