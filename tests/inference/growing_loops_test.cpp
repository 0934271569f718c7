// What a loop appends to, grows where it lies: results are the interpreter's, and what others hold is left as it was.
#include "inference/staged_models.h"

namespace heddle::inference {
namespace {

TensorData rows_of(std::vector<int64_t> shape, double first) {
    TensorData data(DType::float32, std::move(shape));
    for (int64_t i = 0; i < data.size(); i++) data.set_real(i, first + 0.5 * static_cast<double>(i));
    return data;
}

NodeText appended(const std::string& a, const std::string& b, const std::string& to, int64_t axis = 0) {
    return {"Concat", {a, b}, {to}, {integer_attribute("axis", axis)}};
}
const NodeText on = {"Identity", {"condition"}, {"on"}};

// `carried`: what the loop begins with, and the body's names for it.
NodeText loop(const std::string& trips, const std::vector<std::string>& begin, const std::vector<std::string>& given,
              const std::vector<NodeText>& body, std::vector<std::string> results, const std::vector<std::string>& outputs) {
    std::vector<std::string> inputs{trips, ""}, own{trips + ".i", "condition"};
    inputs.insert(inputs.end(), begin.begin(), begin.end());
    own.insert(own.end(), given.begin(), given.end());
    results.insert(results.begin(), "on");
    return {"Loop", inputs, outputs, {graph_attribute("body", body, results, own)}};
}

ModelText model_of(std::vector<NodeText> nodes, const std::vector<std::string>& outputs, int64_t axis = 0) {
    const std::vector<std::string> x = axis == 0 ? std::vector<std::string>{"n", "m"} : std::vector<std::string>{"b", "h", "n", "m"};
    const std::vector<std::string> row = axis == 0 ? std::vector<std::string>{"one", "m"} : std::vector<std::string>{"b", "h", "one", "m"};
    ModelText text{.nodes = std::move(nodes),
                   .inputs = {{"x", x}, {"row", row}, {"trips", {}, int64_type}},
                   .outputs = {},
                   .initializers = {onnx::tensor_message("limit", 1, {}, onnx::raw_floats({60})),
                                    onnx::tensor_message("three", int64_type, {}, std::string("\3\0\0\0\0\0\0\0", 8))}};
    for (const std::string& output : outputs) text.outputs.push_back({output, x});
    return text;
}

struct Ran {
    std::vector<Value> results;
    size_t memories = 0;
};

// Twice: programs are there from the first run on. What is given is as it was.
Ran run(const ModelText& text, int64_t trips, const TensorData& x, const TensorData& row) {
    Staged model(text);
    const TensorData x_before = x.clone(), row_before = row.clone();
    EXPECT_TRUE(model.run({x, row, number(trips)}));
    const size_t before = model.memories();
    auto results = model.run({x, row, number(trips)});
    EXPECT_TRUE(results) << render(results.error());
    EXPECT_TRUE(equal(Value::of(x), Value::of(x_before)) && equal(Value::of(row), Value::of(row_before)));
    return {results ? *results : std::vector<Value>(), model.memories() - before};
}
Ran run(const ModelText& text, int64_t trips) { return run(text, trips, rows_of({2, 3}, 1), rows_of({1, 3}, -4)); }

TEST(GrowingLoop, rows_are_appended_where_they_lie) {
    const ModelText text = model_of({loop("trips", {"x"}, {"c"}, {appended("c", "row", "d"), on}, {"d"}, {"y"})}, {"y"});
    const Ran ran = run(text, 300);
    ASSERT_EQ(ran.results[0].tensor->shape(), (std::vector<int64_t>{302, 3}));
    EXPECT_EQ(ran.results[0].tensor->real_at(0), 1);
    EXPECT_EQ(ran.results[0].tensor->real_at(301 * 3), -4);
    EXPECT_GT(ran.memories, 0u);
    EXPECT_LE(ran.memories, 10u) << "half as much again each time";
    for (int64_t trips : {0, 1, 2}) run(text, trips);
    run(text, 20, rows_of({0, 3}, 1), rows_of({2, 3}, 2));
}

TEST(GrowingLoop, dimensions_before_the_one_that_grows) {
    const ModelText text = model_of({loop("trips", {"x"}, {"c"}, {appended("c", "row", "d", 2), on}, {"d"}, {"y"})}, {"y"}, 2);
    const Ran ran = run(text, 200, rows_of({2, 3, 1, 4}, 1), rows_of({2, 3, 1, 4}, 9));
    EXPECT_EQ(ran.results[0].tensor->shape(), (std::vector<int64_t>{2, 3, 201, 4}));
    EXPECT_GT(ran.memories, 0u);
    EXPECT_LE(ran.memories, 9u);
}

TEST(GrowingLoop, in_front_is_a_copy) {
    const Ran ran = run(model_of({loop("trips", {"x"}, {"c"}, {appended("row", "c", "d"), on}, {"d"}, {"y"})}, {"y"}), 40);
    EXPECT_EQ(ran.memories, 0u);
}

TEST(GrowingLoop, whoever_holds_a_shorter_one_keeps_it) {
    // The one before; the same twice, each with a row behind; behind what is captured.
    const auto before = loop("trips", {"x", "x"}, {"c", "old"}, {appended("c", "row", "d"), on}, {"d", "c"}, {"y", "z"});
    EXPECT_LE(run(model_of({before}, {"y", "z"}), 100).memories, 8u);
    const auto twice = loop("trips", {"x", "x"}, {"a", "b"}, {appended("a", "row", "c"), on}, {"c", "c"}, {"y", "z"});
    run(model_of({twice}, {"y", "z"}), 50);
    const std::vector<NodeText> two{appended("a", "row", "c"), {"Neg", {"row"}, {"other"}}, appended("a", "other", "d"), on};
    run(model_of({loop("trips", {"x", "x"}, {"a", "b"}, two, {"c", "d"}, {"y", "z"})}, {"y", "z"}), 50);
    const std::vector<NodeText> captured{appended("x", "row", "d"), appended("c", "row", "e"), on};
    run(model_of({loop("trips", {"x", "x"}, {"c", "b"}, captured, {"e", "d"}, {"y", "z"})}, {"y", "z"}), 50);
}

TEST(GrowingLoop, what_it_reads_of_itself) {
    // In the stage that appends; and what decides whether it goes on, so that it ends early.
    const std::vector<NodeText> body{{"ReduceMax", {"c"}, {"greatest"}, {integer_attribute("keepdims", 0)}},
                                     {"Add", {"row", "greatest"}, {"more"}},
                                     appended("c", "more", "d"),
                                     {"ReduceSum", {"d"}, {"sum"}, {integer_attribute("keepdims", 0)}},
                                     {"Less", {"sum", "limit"}, {"on"}}};
    const Ran ran = run(model_of({loop("trips", {"x"}, {"c"}, body, {"d"}, {"y"})}, {"y"}), 1000, rows_of({2, 3}, 1), rows_of({1, 3}, 0.5));
    EXPECT_LT(ran.results[0].tensor->shape()[0], 100);
    EXPECT_GT(ran.memories, 0u);
}

TEST(GrowingLoop, a_branch_that_grows) {
    const std::vector<NodeText> grows{appended("c", "row", "r")}, rests{{"Identity", {"c"}, {"r"}}};
    const std::vector<NodeText> body{
        {"Mod", {"trips.i", "three"}, {"left"}},
        {"Cast", {"left"}, {"choose"}, {integer_attribute("to", bool_type)}},
        {"If", {"choose"}, {"d"}, {graph_attribute("then_branch", grows, {"r"}), graph_attribute("else_branch", rests, {"r"})}},
        on};
    const Ran ran = run(model_of({loop("trips", {"x"}, {"c"}, body, {"d"}, {"y"})}, {"y"}), 300);
    EXPECT_EQ(ran.results[0].tensor->shape()[0], 202);
    EXPECT_GT(ran.memories, 0u);
    EXPECT_LE(ran.memories, 10u) << "what a branch hands on stays where it lies";
}

TEST(GrowingLoop, loops_within_loops) {
    const auto inner = loop("three", {"c"}, {"e"}, {appended("e", "row", "f"), on}, {"f"}, {"d"});
    const auto outer = loop("trips", {"x"}, {"c"}, {inner, on}, {"d"}, {"y"});
    const Ran ran = run(model_of({outer}, {"y"}), 100);
    EXPECT_EQ(ran.results[0].tensor->shape()[0], 302);
    EXPECT_GT(ran.memories, 0u);
    EXPECT_LE(ran.memories, 10u);
}

TEST(GrowingLoop, lists_that_are_appended_to) {
    const std::vector<NodeText> body{{"SequenceInsert", {"l", "row"}, {"k"}}, on};
    const auto text = model_of({{"SequenceConstruct", {"x", "x"}, {"list"}},
                                loop("trips", {"list"}, {"l"}, body, {"k"}, {"longer"}),
                                {"ConcatFromSequence", {"longer"}, {"y"}, {integer_attribute("axis", 0)}},
                                {"ConcatFromSequence", {"list"}, {"z"}, {integer_attribute("axis", 0)}}},
                               {"y", "z"});
    const Ran ran = run(text, 50);
    EXPECT_EQ(ran.results[0].tensor->shape()[0], 54);
    EXPECT_EQ(ran.results[1].tensor->shape()[0], 4) << "the list that it began with is as it was";
}

TEST(GrowingLoop, what_only_goes_through) {
    const auto text = model_of({loop("trips", {"x"}, {"c"}, {{"Identity", {"c"}, {"d"}}, on}, {"d"}, {"y"})}, {"y"});
    const Ran ran = run(text, 30);
    EXPECT_EQ(ran.results[0].tensor->shape()[0], 2);
}

}  // namespace
}  // namespace heddle::inference
