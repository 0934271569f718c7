// Models whose sizes, branches and trip counts follow from data: what stages compute, what is compiled again, what is refused.
#include "inference/staged_models.h"
#include "inference/steps.h"

namespace heddle::inference {
namespace {

// y = x doubled `trips` times, or until its sum is 100; all y on the way.
ModelText doubling() {
    const std::vector<NodeText> body{
        {"Add", {"before", "before"}, {"after"}},
        {"ReduceSum", {"after"}, {"sum"}, {integer_attribute("keepdims", 0)}},
        {"Less", {"sum", "limit"}, {"goes_on"}},
        {"Mul", {"after", "scale"}, {"scaled"}}};
    return {.nodes = {{"Loop", {"trips", "", "x"}, {"y", "all"}, {graph_attribute("body", body, {"goes_on", "after", "scaled"}, {"i", "condition", "before"})}}},
            .inputs = {{"x", {"n"}}, {"trips", {}, int64_type}},
            .outputs = {{"y", {"n"}}, {"all", {"t", "n"}}},
            .initializers = {onnx::tensor_message("limit", 1, {}, onnx::raw_floats({100})),
                             onnx::tensor_message("scale", 1, {}, onnx::raw_floats({-1}))}};
}

TEST(StagedModel, a_loop_ends_by_its_count_or_by_its_condition) {
    Staged model(doubling());
    auto results = model.run({floats({1, 2}), number(3)});
    ASSERT_TRUE(results) << render(results.error());
    EXPECT_EQ(reals((*results)[0]), (std::vector<double>{8, 16}));
    EXPECT_EQ((*results)[1].tensor->shape(), (std::vector<int64_t>{3, 2}));
    EXPECT_EQ(reals((*results)[1]), (std::vector<double>{-2, -4, -4, -8, -8, -16}));
    results = model.run({floats({1, 2}), number(1000)});
    ASSERT_TRUE(results) << render(results.error());
    EXPECT_EQ(reals((*results)[0]), (std::vector<double>{64, 128}));
    results = model.run({floats({1, 2}), number(0)});
    ASSERT_TRUE(results) << render(results.error());
    EXPECT_EQ(reals((*results)[0]), (std::vector<double>{1, 2}));
    EXPECT_EQ((*results)[1].tensor->shape()[0], 0);
    EXPECT_EQ(model.compiled(), 1u) << "an iteration is no program";
}

TEST(StagedModel, what_a_loop_carries_may_grow) {
    const std::vector<NodeText> body{{"Concat", {"before", "x"}, {"after"}, {integer_attribute("axis", 0)}},
                                     {"Identity", {"condition"}, {"goes_on"}}};
    Staged model({.nodes = {{"Loop", {"trips", "", "x"}, {"y"}, {graph_attribute("body", body, {"goes_on", "after"}, {"i", "condition", "before"})}}},
                  .inputs = {{"x", {"n"}}, {"trips", {}, int64_type}},
                  .outputs = {{"y", {"m"}}}});
    for (int64_t trips : {40, 60, 50}) {
        const size_t before = model.compiled();
        auto results = model.run({floats({1, 2, 3}), number(trips)});
        ASSERT_TRUE(results) << render(results.error());
        const auto y = reals((*results)[0]);
        ASSERT_EQ(y.size(), static_cast<size_t>(3 * (trips + 1)));
        for (size_t i = 0; i < y.size(); i++) EXPECT_EQ(y[i], static_cast<double>(i % 3 + 1));
        EXPECT_LE(model.compiled() - before, trips == 40 ? 8u : 2u) << "programs are for classes of sizes";
    }
}

TEST(StagedModel, a_size_that_data_decide_is_a_size_of_the_next_stage) {
    Staged model({.nodes = {{"ReduceSum", {"x"}, {"sum"}, {integer_attribute("keepdims", 0)}},
                            {"Cast", {"sum"}, {"limit"}, {integer_attribute("to", int64_type)}},
                            {"Range", {"zero", "limit", "one"}, {"range"}},
                            {"Mul", {"range", "range"}, {"y"}}},
                  .inputs = {{"x", {"n"}}},
                  .outputs = {{"y", {"m"}, int64_type}},
                  .initializers = {onnx::tensor_message("zero", int64_type, {}, std::string(8, '\0')),
                                   onnx::tensor_message("one", int64_type, {}, std::string("\1\0\0\0\0\0\0\0", 8))}});
    for (double limit : {20, 21, 40, 63, 30}) {
        auto results = model.run({floats({limit - 1, 1})});
        ASSERT_TRUE(results) << render(results.error());
        const auto y = reals((*results)[0]);
        ASSERT_EQ(y.size(), static_cast<size_t>(limit));
        for (size_t i = 0; i < y.size(); i++) EXPECT_EQ(y[i], static_cast<double>(i * i));
    }
    EXPECT_EQ(model.compiled(), 2u) << "one program a stage";
    auto none = model.run({floats({-1, 1})});
    ASSERT_TRUE(none) << render(none.error());
    EXPECT_EQ((*none)[0].tensor->size(), 0);
}

TEST(StagedModel, branches_may_give_different_shapes_and_call_their_values_alike) {
    const std::vector<NodeText> squares{{"Mul", {"x", "x"}, {"t"}}, {"Neg", {"t"}, {"r"}}};
    const std::vector<NodeText> twice{{"Concat", {"x", "x"}, {"t"}, {integer_attribute("axis", 0)}}, {"Abs", {"t"}, {"r"}}};
    Staged model({.nodes = {{"ReduceSum", {"x"}, {"sum"}, {integer_attribute("keepdims", 0)}},
                            {"Greater", {"sum", "zero"}, {"condition"}},
                            {"If", {"condition"}, {"chosen"}, {graph_attribute("then_branch", squares, {"r"}), graph_attribute("else_branch", twice, {"r"})}},
                            {"Add", {"chosen", "chosen"}, {"y"}}},
                  .inputs = {{"x", {"n"}}},
                  .outputs = {{"y", {"m"}}},
                  .initializers = {onnx::tensor_message("zero", 1, {}, onnx::raw_floats({0}))}});
    for (int round = 0; round < 2; round++) {
        auto results = model.run({floats({3, -1})});
        ASSERT_TRUE(results) << render(results.error());
        EXPECT_EQ(reals((*results)[0]), (std::vector<double>{-18, -2}));
        results = model.run({floats({-3, 1})});
        ASSERT_TRUE(results) << render(results.error());
        EXPECT_EQ(reals((*results)[0]), (std::vector<double>{6, 2, 6, 2}));
    }
    EXPECT_EQ(model.compiled(), 3u) << "the condition, and what follows from each of its values";
}

ModelText element_of_a_list() {
    return {.nodes = {{"SequenceConstruct", {"x", "z"}, {"list"}}, {"SequenceAt", {"list", "place"}, {"chosen"}}, {"Neg", {"chosen"}, {"y"}}},
            .inputs = {{"x", {"n"}}, {"z", {"m"}}, {"place", {}, int64_type}},
            .outputs = {{"y", {"k"}}}};
}

TEST(StagedModel, lists_are_handed_from_step_to_step) {
    Staged model(element_of_a_list());
    auto results = model.run({floats({1}), floats({2, 3}), number(-1)});
    ASSERT_TRUE(results) << render(results.error());
    EXPECT_EQ(reals((*results)[0]), (std::vector<double>{-2, -3}));
}

TEST(StagedModel, a_place_outside_of_a_list) {
    Staged model(element_of_a_list());
    const auto results = model.run({floats({1}), floats({2, 3}), number(2)});
    ASSERT_EQ(codes(results), Codes{"inference.list"});
    EXPECT_EQ(results.error()[0].found, "2");
    EXPECT_EQ(results.error()[0].expected, "-2 to 1");
}

TEST(StagedModel, a_body_that_does_not_fit_its_loop) {
    ModelText text = doubling();
    text.nodes[0].inputs.push_back("x");
    EXPECT_EQ(codes(Staged(text).run({floats({1}), number(2)})), Codes{"inference.step"});
}

TEST(StagedModel, what_is_stacked_has_one_shape) {
    const std::vector<NodeText> body{{"Concat", {"before", "x"}, {"after"}, {integer_attribute("axis", 0)}},
                                     {"Identity", {"condition"}, {"goes_on"}}};
    Staged model({.nodes = {{"Loop", {"trips", "", "x"}, {"y", "all"}, {graph_attribute("body", body, {"goes_on", "after", "after"}, {"i", "condition", "before"})}}},
                  .inputs = {{"x", {"n"}}, {"trips", {}, int64_type}},
                  .outputs = {{"all", {"t", "m"}}}});
    EXPECT_EQ(codes(model.run({floats({1, 2, 3}), number(3)})), Codes{"inference.step"});
}

TEST(StagedModel, a_value_that_nothing_makes) {
    const std::vector<NodeText> body{{"Add", {"before", "nothing"}, {"after"}}, {"Identity", {"condition"}, {"goes_on"}}};
    Staged model({.nodes = {{"Loop", {"trips", "", "x"}, {"y"}, {graph_attribute("body", body, {"goes_on", "after"}, {"i", "condition", "before"})}}},
                  .inputs = {{"x", {"n"}}, {"trips", {}, int64_type}},
                  .outputs = {{"y", {"n"}}}});
    EXPECT_EQ(codes(model.run({floats({1, 2, 3}), number(3)})), Codes{"onnx.undefined_value"});
}

TEST(StagedModel, a_loop_without_end_is_too_much_work) {
    const int64_t endless = int64_t{1} << 62;
    const WorkLimit limit{1e7, "--work"};
    const auto counting = [](std::vector<NodeText> body, const std::string& result) {
        body.push_back({"Identity", {"condition"}, {"goes_on"}});
        return ModelText{.nodes = {{"Loop", {"trips", "", "x"}, {"y"}, {graph_attribute("body", body, {"goes_on", result}, {"i", "condition", "before"})}}},
                         .inputs = {{"x", {"n"}}, {"trips", {}, int64_type}},
                         .outputs = {{"y", {"n"}}}};
    };
    Staged model(counting({{"Neg", {"before"}, {"after"}}}, "after"));
    const auto found = model.run({floats({1, 2}), number(endless)}, limit);
    ASSERT_EQ(codes(found), Codes{"evaluate.too_much_work"});
    EXPECT_NE(found.error()[0].remedy.find("--work"), std::string::npos);
    EXPECT_EQ(codes(Staged(counting({}, "before")).run({floats({1, 2}), number(endless)}, limit)), Codes{"evaluate.too_much_work"});
    EXPECT_TRUE(model.run({floats({1, 2}), number(300)}, limit));
    // Within another loop the iterations of both count.
    const std::vector<NodeText> inner{{"Neg", {"b"}, {"c"}}, {"Identity", {"on"}, {"on2"}}};
    const NodeText loop{"Loop", {"trips", "", "before"}, {"after"}, {graph_attribute("body", inner, {"on2", "c"}, {"j", "on", "b"})}};
    Staged nested(counting({loop}, "after"));
    EXPECT_TRUE(nested.run({floats({1, 2}), number(10)}, limit));
    EXPECT_EQ(codes(nested.run({floats({1, 2}), number(40)}, limit)), Codes{"evaluate.too_much_work"});
    // Parts without elements are nothing, and may be many.
    const std::vector<NodeText> body{{"Neg", {"part"}, {"negative"}}};
    Staged scan({.nodes = {{"Scan", {"x"}, {"y"}, {graph_attribute("body", body, {"negative"}, {"part"}), integer_attribute("num_scan_inputs", 1)}}},
                 .inputs = {{"x", {"n", "m"}}},
                 .outputs = {{"y", {"n", "m"}}}});
    EXPECT_EQ(codes(scan.run({TensorData(DType::float32, {endless, 0})}, limit)), Codes{"evaluate.too_much_work"});
    Staged split({.nodes = {{"SplitToSequence", {"x"}, {"list"}}, {"SequenceAt", {"list", "place"}, {"y"}}},
                  .inputs = {{"x", {"n", "m"}}, {"place", {}, int64_type}},
                  .outputs = {{"y", {"n", "m"}}}});
    EXPECT_EQ(codes(split.run({TensorData(DType::float32, {endless, 0}), number(0)}, limit)), Codes{"runtime.out_of_memory"});
}

TEST(StagedModel, one_graph_holds_no_loop) {
    const auto imported = onnx::import(doubling().bytes(), {{"n", 2}});
    ASSERT_FALSE(imported);
    EXPECT_EQ(imported.error()[0].code, "onnx.step");
    EXPECT_TRUE(needs_stages(imported.error()));
}

TEST(StagedModel, an_input_of_another_type) {
    Staged model(doubling());
    EXPECT_EQ(codes(model.run({floats({1}), number(1, DType::int32)})), Codes{"runtime.input_dtype"});
}

}  // namespace
}  // namespace heddle::inference
